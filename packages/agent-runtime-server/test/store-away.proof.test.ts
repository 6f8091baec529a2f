import { createRuntime, defineTask, type RuntimeEvent } from '@ku0/agent-runtime'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { startPostgres } from '../../agent-gym/src/place/postgres-server.ts'
import { serve } from '../src/index.ts'

const greet = defineTask({ type: 'greet', input: z.string() }, (_ctx, name) => `Hello ${name}`)

test('D14 the server of a store is stopped and started again: the log, listeners and /ready say so, and the runtime goes on', async () => {
  const postgres = await startPostgres({ fsync: false })
  onTestFinished(postgres.stop)
  const said: [level: string, message: string][] = []
  const keep = (level: string) => (_fields: object, message: string) => void said.push([level, message])
  const logger = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') }
  const runtime = await createRuntime({ store: `${postgres.url}?schema=away`, tasks: [greet], logger })
  const events: RuntimeEvent[] = []
  runtime.on('store.*', (event) => events.push(event))
  const server = await serve(runtime, { port: 0 })
  onTestFinished(async () => {
    await server.close()
    await runtime.stop({ drain: false })
  })
  const ready = async () => (await fetch(new URL('/ready', server.url))).status
  expect(await ready()).toBe(200)
  expect(await runtime.result(await runtime.submit(greet, 'Ada'))).toBe('Hello Ada')

  await postgres.crash()
  await expect.poll(() => events.length, { interval: 20 }).toBe(1)
  expect(events).toMatchObject([
    { type: 'store.disconnected', taskId: '', data: { reason: expect.stringMatching(/./) } },
  ])
  expect(await ready()).toBe(503)
  const refused = await runtime.status('none').catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'store_unavailable' })

  await postgres.restart()
  await expect.poll(() => events.length, { interval: 20 }).toBe(2)
  expect(events[1]).toMatchObject({ type: 'store.reconnected', taskId: '' })
  expect(await ready()).toBe(200)
  expect(await runtime.result(await runtime.submit(greet, 'Bob'))).toBe('Hello Bob')
  const [away, back] = said.filter(([, message]) => /the store/.test(message))
  expect([away?.[0], back?.[0]]).toEqual(['warn', 'info'])
})
