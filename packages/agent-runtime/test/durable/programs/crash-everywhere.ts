import type { TaskDefinition } from '../../../src/index.ts'
import { RunningTest } from '../../../src/testing/running-test.ts'
import type { TestRuntime } from '../../../src/testing/index.ts'

interface Sweep<Outcome> {
  readonly tasks: readonly TaskDefinition[]
  readonly script: (world: TestRuntime) => Promise<Outcome>
  readonly check: (world: TestRuntime, outcome: Outcome) => Promise<void>
}

/**
 * `sweepCrashes`, but for programs whose runs need not have the same tasks in the same order: children that are spawned side by side,
 * or by a branch that loses before it has spawned its own. The verdict looks at each by its key. Gives the number of crashes.
 */
export async function crashEverywhere<Outcome>(sweep: Sweep<Outcome>): Promise<number> {
  const commits = await play(sweep, undefined)
  for (let commit = 1; commit <= commits; commit += 1) await play(sweep, commit)
  return commits
}

/** Once, without a crash, in memory: what is there ends with its process. */
export async function playInMemory<Outcome>(sweep: Sweep<Outcome>): Promise<void> {
  await play(sweep, undefined, false)
}

async function play<Outcome>(
  { tasks, script, check }: Sweep<Outcome>,
  commit: number | undefined,
  crashes = true,
) {
  const crash = commit === undefined ? { crashes } : { crashAfterCommit: commit }
  await using world = await RunningTest.start({ tasks, seed: 'program', ...crash }, true)
  try {
    const outcome = await script(world)
    await world.settle()
    const { commits } = world
    for (const { taskId, key } of world.ledger.reruns)
      throw new Error(`the function of step '${key}' of ${taskId} ran again after its result was recorded`)
    await check(world, outcome)
    return commits
  } catch (error) {
    const when = commit === undefined ? 'without a crash' : `crashed after commit ${commit}`
    throw new Error(`${when}\n\n${await historiesOf(world)}`, { cause: error })
  }
}

async function historiesOf(world: TestRuntime): Promise<string> {
  const { tasks } = await world.runtime.list({ limit: 10 })
  const histories = await Promise.all(tasks.toReversed().map((task) => world.history(task.taskId)))
  return histories.join('\n\n')
}
