import { type Client, createClient, createWorker, defineTask } from '@ku0/agent-runtime'
import type { ExecutionStore } from '@ku0/agent-runtime-core'
import { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { openStore } from '@ku0/agent-runtime-persistence'
import { openLine } from '@ku0/agent-runtime-persistence/lines'
import { systemEnvironment } from '../../../agent-runtime-persistence/src/system.ts'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { MemoryLines } from './memory-line.ts'

const config = { leaseTtlMs: 12_000, heartbeatIntervalMs: 1_000 }

/** A task that does a little of everything, and counts what it does. */
function journey() {
  const effects: string[] = []
  const child = defineTask({ type: 'child', input: z.object({ n: z.int() }) }, async (ctx, { n }) =>
    ctx.step('double', () => {
      effects.push('child')
      return n * 2
    }),
  )
  const parent = defineTask(
    { type: 'parent', input: z.object({ name: z.string() }) },
    async (ctx, { name }) => {
      const first = await ctx.step('first', () => effects.push('first'))
      await ctx.emit(`hello ${name}`)
      const doubled = await ctx.call('doubled', child, { n: 21 })
      const signal = await ctx.waitForSignal('go')
      const [left, right] = await Promise.all([
        ctx.step('left', () => effects.push('left') > 0),
        ctx.step('right', () => effects.push('right') > 0),
      ])
      return { first, doubled, signal, left, right }
    },
  )
  return { effects, child, parent }
}

interface Stage {
  readonly lines: MemoryLines
  readonly behind: ExecutionStore
}

/** Plays the journey over a line that `arrange` prepares. */
async function play(arrange: (stage: Stage) => void): Promise<readonly string[]> {
  const environment = systemEnvironment()
  const behind = await openStore('sqlite::memory:', { config, lines: true, checked: false, thread: false })
  const client: Client = await createClient({ store: behind, config, logger: false })
  const lines = new MemoryLines(behind, environment)
  const { effects, child, parent } = journey()
  const opened = await openLine('http://localhost', environment, lines.dialAs())
  let stop = async (): Promise<unknown> => undefined
  try {
    const { store } = opened
    const worker = await createWorker({
      store,
      tasks: [child, parent],
      config,
      logger: false,
      telemetry: false,
      workers: { capacity: 4 },
    })
    stop = () => worker.stop({ drain: false })
    lines.passed.length = 0
    arrange({ lines, behind })
    const task = await client.submit(parent, { name: 'cut' })
    await client.signal(task, 'go', 'now')
    const result = await client.result(task, { timeoutMs: 200_000 })
    expect(result).toEqual({ first: 1, doubled: 42, signal: 'now', left: true, right: true })
    const chunks: string[] = []
    for await (const item of client.output(task, { live: false })) chunks.push(JSON.stringify(item))
    expect(chunks.filter((chunk) => chunk.includes('hello cut'))).toHaveLength(1)
    expect(effects.toSorted()).toEqual(['child', 'first', 'left', 'right'])
    const { totals } = await client.stats()
    expect(totals).toMatchObject({ submitted: 2, completed: 2, failed: 0 })
    for (const { taskId } of (await client.list()).tasks)
      expect(await client.status(taskId)).toMatchObject({ state: 'completed', crashes: 0 })
    expect(lines.errors).toEqual([])
    return [...lines.passed]
  } finally {
    await stop()
    await opened.store.close()
    await client.close()
    await behind.close()
  }
}

for (const [what, restarts] of [
  ['the line is cut', false],
  ['the server forgets all and is there again', true],
] as const)
  test(`no step runs twice, and none is lost, when ${what} at any message`, async () => {
    const frames = await play(() => {})
    expect(frames.length).toBeGreaterThan(15)
    for (const when of ['before', 'after'] as const)
      for (let at = 0; at < frames.length; at++)
        await play(({ lines }) => {
          lines.cutAt = (_, index) => {
            if (index !== at) return undefined
            if (restarts) setImmediate(() => lines.restart())
            return when
          }
        }).catch((error: unknown) => {
          throw new Error(`cut ${when} message ${at} of ${frames.length}, ${frames[at]?.slice(0, 200)}`, {
            cause: error,
          })
        })
  })

test('nothing is done twice when every fifth message, by chance, is the last of its connection', async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const random = new SeededRandom(seed)
    const frames = await play(({ lines }) => {
      lines.cutAt = () => (random.next() < 0.2 ? (random.next() < 0.5 ? 'before' : 'after') : undefined)
    })
    expect(frames.length).toBeGreaterThan(15)
  }
})

test('a black hole of 5 s is a pause: leases live on, and no step runs again', async () => {
  const frames = await play(({ lines }) => {
    lines.cutAt = (_, index) => {
      if (index !== 6) return undefined
      lines.isDark = true
      setTimeout(() => (lines.isDark = false), 5_000)
      return undefined
    }
  })
  expect(frames.length).toBeGreaterThan(15)
})
