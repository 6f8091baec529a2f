import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { scaledMs } from '../../../tools/cpu/slowness.ts'
import { runIn } from './stores-and-shells.ts'

const folder = mkdtempSync(join(tmpdir(), 'cli-large-'))
const store = join(folder, 'it.db')
let newest = ''

beforeAll(async () => {
  const { config } = parseExecutionConfig({ queueDepthLimit: 200_000, batchBackpressureThreshold: 200_000 })
  const it = await openStore(`sqlite:${store}`, { config, durability: 'normal', thread: false })
  const tasks = Array.from({ length: 1_000 }, (_, n) => ({
    type: `type ${n % 20}`,
    lane: (['interactive', 'normal', 'batch'] as const)[n % 3] ?? 'normal',
    input: String(n),
    labels: { team: `team ${n % 7}` },
  }))
  for (let n = 0; n < 100; n++) {
    const receipts = await it.write({ kind: 'submit', tasks })
    newest = receipts.at(-1)?.taskId ?? ''
  }
  await it.close()
}, 300_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const looks = [
  'list',
  'list --state failed',
  'list --type nobody',
  'list --label team=nobody',
  'list --client nobody',
  'dead-letters',
  'show TASK',
  'tree TASK',
  'events TASK',
  'explain TASK',
  'queue',
  'stats',
  'stats --since 1h',
  'workers',
  'approvals',
  'budgets',
  'schedules',
  'output TASK',
  'pipelines',
  'approvals trail TASK',
  'budgets show TASK',
  'credits ledger nobody',
  'prune --completed 1d',
  'retry --state failed',
  'cancel --type nobody',
  'cancel --state queued',
  'pause --type nobody',
  'resume --type nobody',
  'signal TASK go 1',
  'doctor',
  'check',
]

test.each(looks)('agent-runtime %s answers within 300 ms on a store with 100 000 tasks', async (command) => {
  const args = command.split(' ').map((arg) => (arg === 'TASK' ? newest : arg))
  const took: number[] = []
  // The first call loads the command's modules; a busy machine may take some of the others.
  for (let turn = 0; turn < 12 && !took.some((ms) => ms < 300); turn++) {
    const ms = await scaledMs(async () => {
      const { code, err } = await runIn({ folder }, ...args, '--store', store)
      // No worker runs these tasks, which is what check is for.
      expect([command, code, err]).toEqual([command, command === 'check' ? 1 : 0, expect.any(String)])
    })
    if (turn > 0) took.push(ms)
  }
  expect(Math.min(...took)).toBeLessThan(300)
})
