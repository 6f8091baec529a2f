import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sharedServer } from '../helpers/postgres-server.ts'
import { Program } from '../helpers/program.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

/** How often the threads of a process have gone to sleep by themselves. */
function rests(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))
    .map((status) => Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1]))
    .reduce((sum, count) => sum + count, 0)
}

// Each wake-up costs an idle process some 100 microseconds, whatever the machine has to do besides.
test.runIf(process.platform === 'linux').each([
  ['alone on a file', (): string => `sqlite:${join(scratchFolder(), 'it.db')}`, 0, 30],
  ['beside another on a file', (): string => `sqlite:${join(scratchFolder(), 'it.db')}`, 1, 40],
  ['beside another on PostgreSQL', async (): Promise<string> => (await sharedServer()).newStore(), 1, 60],
] as const)(
  'a process that has nothing to do, %s, wakes up only so often',
  async (_, place, others, most) => {
    const url = await place()
    const programs = Array.from({ length: others + 1 }, () => new Program('idle.ts', url, String(others)))
    await Promise.all(programs.map((it) => it.said('open')))
    const seconds = 3
    const counts = () => programs.map(({ child: { pid = 0 } }) => rests(pid))
    const before = counts()
    await pass(seconds * 1_000)
    for (const [at, count] of counts().entries())
      expect((count - (before[at] ?? 0)) / seconds).toBeLessThan(most)
  },
)
