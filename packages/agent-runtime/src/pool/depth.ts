import { pauseOf, type Clock, type ExecutionStore, type Lane, type TaskRecord } from '@ku0/agent-runtime-core'

/** What workers take: tasks of these types, from these lanes; undefined is all. */
interface Work {
  readonly types?: readonly string[] | undefined
  readonly lanes?: readonly Lane[] | undefined
}

/** Counts queued tasks that are due, of these types and lanes or of all, up to `enough`. Tasks that wait for their time are no load, nor are those of a type or lane that is paused. */
export async function depthOf(
  store: Pick<ExecutionStore, 'read'>,
  clock: Clock,
  enough: number,
  { types, lanes }: Work = {},
): Promise<number> {
  const { paused } = await store.read({ kind: 'stats' })
  let count = 0
  let cursor: number | undefined
  do {
    const limit = Math.min(1_000, Math.max(enough, 100))
    const filter = {
      states: ['queued' as const],
      limit,
      ...(types === undefined ? {} : { types }),
      ...(lanes === undefined ? {} : { lanes }),
      ...(cursor === undefined ? {} : { cursor }),
    }
    const page = await store.read({ kind: 'tasks', filter })
    for (const task of page.tasks)
      if (isDue(task, clock.now()) && pauseOf(paused, task) === undefined) count += 1
    cursor = page.cursor
  } while (count < enough && cursor !== undefined)
  return count
}

function isDue(task: TaskRecord, now: number): boolean {
  return task.state === 'queued' && (task.dueAt === undefined || task.dueAt <= now)
}
