// Starts the agent's process and the reviewers' in turn, on one database. No two of them live at the same time.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRuntime } from '@ku0/agent-runtime'

const agent = new URL('./agent.ts', import.meta.url)
const desk = new URL('./desk.ts', import.meta.url)
const place = mkdtempSync(join(tmpdir(), 'approval-'))
const database = join(place, 'announcements.db')
try {
  run(agent)
  run(desk, 'approve', 'Ada')
  run(agent)
  run(desk, 'reject', 'Grace', 'calmer, please')
  run(agent)
  run(desk, 'approve', 'Grace')
  run(agent)

  console.log('The audit trail:')
  await using runtime = await createRuntime({
    store: `sqlite:${database}`,
    tasks: [],
    workers: 0,
    logger: false,
  })
  for (const { taskId } of (await runtime.list()).tasks) {
    for (const { key, outcome, by, feedback = '-' } of await runtime.approvals.trail(taskId))
      console.log(`  ${key}: ${outcome} by ${by}: ${feedback}`)
  }
} finally {
  rmSync(place, { recursive: true, force: true })
}

function run(file: URL, ...args: readonly string[]): void {
  const { status } = spawnSync(process.execPath, [fileURLToPath(file), database, ...args], {
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error(`${file.pathname} ended with ${status}`)
}
