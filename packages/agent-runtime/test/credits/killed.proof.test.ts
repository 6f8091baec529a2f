import { join } from 'node:path'
import { verifyStore } from '@ku0/agent-runtime-persistence'
import { expect, test } from 'vitest'
import { createRuntime, defineTask } from '../../src/index.ts'
import { z } from 'zod'
import { folder, type Program, run } from '../real-processes.ts'

const program = new URL('../processes/buyer.ts', import.meta.url)
const spend = defineTask({ type: 'spend', input: z.number() }, async (ctx, cost) => {
  await ctx.step('first', (step) => {
    step.charge({ cost })
  })
  await ctx.step('second', (step) => {
    step.charge({ cost: 0.25 })
  })
})

test('11.8 processes that buy and spend are killed again and again: each purchase counts once, and the ledger balances', async () => {
  const database = join(folder(), 'store.db')
  const told = new Set<string>()
  const begin = (prefix: string) => run(program, database, prefix)
  const kill = async (it: Program) => {
    it.process.kill('SIGKILL')
    await it.ended
    for (const line of it.lines) if (line.startsWith('bought ')) told.add(line.slice('bought '.length))
  }
  // Two at a time on one store; each is killed a little later than the one before it.
  let other = begin('b')
  for (let round = 1; round <= 3; round++) {
    const own = begin('a')
    await own.said(`bought a-${round * 8}`)
    await kill(other)
    other = begin('b')
    await other.said(`bought b-${round * 5}`)
    await kill(own)
  }
  await kill(other)

  await using runtime = await createRuntime({
    store: `sqlite:${database}`,
    tasks: [spend],
    config: { shares: { ledger: true, startCredits: 0 } },
    logger: false,
  })
  let count = 0
  for (let cursor: number | undefined, more = true; more;) {
    const page = await runtime.list({ limit: 1_000, cursor })
    for (const { taskId } of page.tasks) await runtime.result(taskId)
    count += page.tasks.length
    cursor = page.cursor
    more = cursor !== undefined
  }
  const entries = []
  for (;;) {
    const page = await runtime.credits.entries('ada', { after: entries.length, limit: 1_000 })
    entries.push(...page)
    if (page.length < 1_000) break
  }
  const keys = entries.flatMap(({ kind, key = '' }) => (kind === 'purchase' ? [key] : []))
  expect(new Set(keys).size).toBe(keys.length)
  expect([...told].filter((key) => !keys.includes(key))).toEqual([])
  expect(told.size).toBeGreaterThanOrEqual(3 * 8 + 3 * 5)

  const { credits = 0, reserved, spent = 0 } = (await runtime.credits.balance('ada')) ?? {}
  expect(reserved).toBe(0)
  expect(credits + spent).toBe(keys.length * 5)
  // Each task was reserved for once, however often its process died.
  expect(entries.filter(({ kind }) => kind === 'reserve')).toHaveLength(count)
  await runtime.stop()
  expect((await verifyStore(`sqlite:${database}`)).faults).toEqual([])
})
