import { setImmediate } from 'node:timers/promises'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { LINE_VERSION } from '@ku0/agent-runtime-persistence/lines'
import { expect, onTestFinished, test } from 'vitest'
import { systemEnvironment } from '../../../agent-runtime-persistence/src/system.ts'
import { owner } from '../../src/access/caller.ts'
import type { ServerLimits } from '../../src/limits.ts'
import { type MemoryLines, quietLine, storeOverLine } from './memory-line.ts'

const { config } = parseExecutionConfig({})

/** A process on a line, on time that only the test moves. */
async function processOn(limits: Partial<ServerLimits>) {
  const environment = createVirtualEnvironment('flow', { digest: systemEnvironment().digest })
  const over = await storeOverLine(config, environment, undefined, limits)
  onTestFinished(async () => {
    over.line.cut()
    await over.behind.close()
  })
  return { ...over, clock: environment.clock }
}

/** A process that does not keep to what was agreed on: it sends what it is told to. */
async function stranger(lines: MemoryLines) {
  const heard: string[] = []
  const held: boolean[] = []
  const connection = {
    send: (text: string) => void heard.push(text),
    waiting: 0,
    hold: (isHeld: boolean) => void held.push(isHeld),
    close: () => {},
  }
  const end = lines.host.accept(connection, owner)
  const send = (frame: object) => end.heard(JSON.stringify(frame))
  send({
    hello: {
      version: LINE_VERSION,
      session: 'stranger'.repeat(4),
      processId: 'stranger',
      workers: [],
      leases: [],
      interest: { types: [], tasks: [] },
    },
  })
  while (heard.length === 0) await setImmediate()
  return { send, held, heard }
}

const stats = { kind: 'stats' } as const

test('a process that sends more calls than were agreed on is held until it has its answers, and no other is', async () => {
  const { store, lines } = await processOn({ maxLineCalls: 3 })
  const flood = await stranger(lines)
  const ask = (call: number) => ({ to: 'read', call, query: stats })
  flood.send({ acked: 0, messages: [1, 2, 3].map(ask) })
  expect(flood.held).toEqual([])
  flood.send({ acked: 0, messages: [4].map(ask) })
  expect(flood.held).toEqual([true])
  expect(await store.read(stats)).toMatchObject({ running: 0 })
  while (flood.held.length < 2) await setImmediate()
  expect(flood.held).toEqual([true, false])
  expect(lines.held).toEqual([])
})

test('a process of ours keeps to what was agreed on, however much it has to ask, and is never held', async () => {
  const { store, lines } = await processOn({ maxLineCalls: 2 })
  lines.passed.length = 0
  await Promise.all(Array.from({ length: 20 }, () => store.read(stats)))
  let [open, most] = [0, 0]
  for (const frame of lines.passed) {
    open += (frame.startsWith('up') ? 1 : -1) * (frame.match(/"call":/g) ?? []).length
    most = Math.max(most, open)
  }
  expect([most, open]).toEqual([2, 0])
  expect(lines.held).toEqual([])
})

test('a process that reads nothing is cut off at the bound, and gets its answers once it reads again', async () => {
  const { store, line, lines, clock } = await processOn({ maxLineBufferBytes: 1 })
  // Larger than the bound by itself, and read at once.
  await store.read(stats)
  expect(lines.host.size).toBe(1)

  lines.isSlow = true
  const first = store.read(stats)
  const written = store.write({
    kind: 'submit',
    tasks: [{ type: 'work', lane: 'normal', input: 'null' }],
  })
  for (let turn = 0; turn < 20; turn += 1) await setImmediate()
  expect(lines.host.size).toBe(1)
  const second = store.read(stats)
  while (lines.host.size > 0) await setImmediate()

  lines.isSlow = false
  while (lines.host.size === 0) {
    clock.advanceBy(1_000)
    await setImmediate()
  }
  await quietLine({ line, lines })
  expect(await Promise.all([first, second])).toMatchObject([{ running: 0 }, { running: 0 }])
  expect(await written).toMatchObject([{ accepted: true }])
  expect(await store.read(stats)).toMatchObject({ depth: { normal: 1 } })
})

test('C6 a worker whose line is dead is silent after the time of a lease, gone after three, and back when it comes back', async () => {
  const { store, behind, line, lines, clock } = await processOn({})
  const register = (workerId: string) => ({
    kind: 'registerWorkers' as const,
    workers: [{ workerId, capacity: 4, types: ['crawl'] }],
  })
  await store.write(register('far'))
  await behind.write(register('near'))
  store.demand('far', 4)
  await quietLine({ line, lines })
  const states = async () =>
    (await behind.read({ kind: 'workers' })).map(({ workerId, state }) => [workerId, state])
  const advance = async (ms: number) => {
    for (let left = ms; left > 0; left -= 1_000) {
      clock.advanceBy(1_000)
      await quietLine({ line, lines })
    }
  }
  await advance(4 * config.leaseTtlMs)
  expect(await states()).toEqual([
    ['far', 'idle'],
    ['near', 'idle'],
  ])

  lines.isDark = true
  await advance(2 * config.leaseTtlMs)
  expect(await states()).toEqual([
    ['far', 'silent'],
    ['near', 'idle'],
  ])
  // It can be undrained, whether it comes back or not.
  await behind.write({ kind: 'askDrain', workerId: 'far', draining: true })
  expect((await states())[0]).toEqual(['far', 'draining'])
  await behind.write({ kind: 'askDrain', workerId: 'far', draining: false })
  expect((await states())[0]).toEqual(['far', 'silent'])
  await advance(2 * config.leaseTtlMs)
  expect(await states()).toEqual([['near', 'idle']])

  lines.isDark = false
  await advance(config.leaseTtlMs)
  expect(await states()).toEqual([
    ['far', 'idle'],
    ['near', 'idle'],
  ])
  await behind.write({ kind: 'submit', tasks: [{ type: 'crawl', lane: 'normal', input: 'null' }] })
  expect(await behind.read({ kind: 'stats' })).toMatchObject({ running: 1 })
})
