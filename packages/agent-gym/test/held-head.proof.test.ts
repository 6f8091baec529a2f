import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { startPostgres } from '../src/place/postgres-server.ts'

test(
  'D01 a settlement that PostgreSQL refuses, since another process holds the store, is asked again until it is stored',
  { timeout: 180_000 },
  async () => {
    const server = await startPostgres({ fsync: false })
    onTestFinished(server.stop)
    const [started, door] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const task = defineTask({ type: 'held', input: z.null() }, async () => {
      started.resolve()
      await door.promise
      return 'done'
    })
    await using runtime = await createRuntime({ store: server.url, tasks: [task], logger: false })
    const receipt = await runtime.submit(task, null)
    await started.promise

    // What a process leaves that is paused in its commit; nobody ends its transaction here.
    const paused = new Client(server.url)
    await paused.connect()
    onTestFinished(() => paused.end())
    await paused.query('BEGIN')
    await paused.query('SELECT 1 FROM agent_runtime.head FOR UPDATE')
    door.resolve()
    // It was sent after the settlement, and waits as long.
    await expect(runtime.submit(task, null)).rejects.toMatchObject({ code: 'store_busy' })
    expect(await runtime.status(receipt)).toMatchObject({ state: 'running', attempt: 1 })
    await paused.query('ROLLBACK')

    expect(await runtime.result(receipt)).toBe('done')
    expect(await runtime.status(receipt)).toMatchObject({ state: 'completed', attempt: 1, crashes: 0 })
  },
)
