import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createClient, createWorker, defineTask } from '@ku0/agent-runtime'
import { openStore, verifyStore } from '@ku0/agent-runtime-persistence'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { fromOutside } from '../../../agent-runtime-persistence/test/helpers/from-outside.ts'
import { sharedServer } from '../../../agent-runtime-persistence/test/helpers/postgres-server.ts'
import { scratchFolder } from '../../../agent-runtime-persistence/test/helpers/scratch-folder.ts'
import { serve } from '../../src/index.ts'

const config = { leaseTtlMs: 2_000, heartbeatIntervalMs: 200 }
const rows = 'SELECT worker_id, registered FROM worker ORDER BY id'

/** Where a store is, and what stands in its table of workers: how many rows are registered, and how many there are. */
interface Place {
  readonly url: string
  readonly registered: () => Promise<readonly [registered: number, rows: number]>
}

const counts = (found: readonly object[]) => {
  const registered = found.filter((row) => Number((row as { registered: unknown }).registered) === 1)
  return [registered.length, found.length] as const
}

const places: readonly (readonly [string, () => Promise<Place>])[] = [
  [
    'in a file',
    async () => {
      const path = join(scratchFolder(), 'it.db')
      const registered = async () => counts(fromOutside(path, rows))
      return { url: `sqlite:${path}`, registered }
    },
  ],
  [
    'on PostgreSQL',
    async () => {
      const server = await sharedServer()
      const url = server.newStore()
      const registered = async () => {
        const client = await server.connect(url)
        const found = await client.query(rows)
        await client.end()
        return counts(found.rows as object[])
      }
      return { url, registered }
    },
  ],
]

test.each(places)(
  'C6 a worker on a line whose process was killed leaves the table of workers of a store %s, and its task runs elsewhere',
  async (_, open) => {
    const { url, registered } = await open()
    // In this thread: a planted fault is in no other.
    const store = await openStore(url, { lines: true, config, checked: false, thread: false })
    const client = await createClient({ store, config, logger: false })
    const server = await serve(client, { port: 0, remoteWorkers: store })
    const far = spawn(process.execPath, [join(import.meta.dirname, 'far-worker.ts'), server.url])
    onTestFinished(() => void far.kill('SIGKILL'))
    const ended = once(far, 'exit')
    const task = await client.submit('held', null)
    await once(far.stdout, 'data')
    expect(await registered()).toEqual([1, 1])
    far.kill('SIGKILL')
    await ended

    const held = defineTask({ type: 'held', input: z.null() }, () => Promise.resolve('done'))
    const near = await createWorker({
      store: server.url,
      tasks: [held],
      config,
      logger: false,
      telemetry: false,
    })
    expect(await client.result(task, { timeoutMs: 200_000 })).toBe('done')
    await expect.poll(registered).toEqual([1, 2])
    expect(await client.workers()).toHaveLength(1)
    await near.stop()
    expect(await registered()).toEqual([0, 2])
    await server.close()
    await client.close()
    await store.close()
    expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 1 })
  },
)
