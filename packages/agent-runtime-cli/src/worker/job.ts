import { createWorker, type RuntimeEvent } from '@ku0/agent-runtime'
import type { WorkerCall } from './worker-call.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { ended, say } from '../screen/lifetime.ts'
import { failing } from './failing.ts'
import { optionsOf } from './options.ts'

/** How the one task of a job ended, as far as this job ran it. */
type End = Extract<
  RuntimeEvent,
  { type: 'task.completed' | 'task.failed' | 'task.canceled' | 'task.waiting' | 'task.requeued' }
>

/**
 * Takes one task, runs it and ends: 0 after it, or when there is nothing to do; 1 when it failed, 75 when it waits for something. A task that goes back
 * to the queue since this process has to end is a job well done; a try that failed is not, even if another follows.
 */
export async function runJob({ call, settings, tasks, ready }: WorkerCall): Promise<number> {
  const { wait = 0, waitingExit = cliExitCodes.busy } = call.options as {
    readonly wait?: number
    readonly waitingExit?: number
  }
  const failure = failing()
  await using worker = await createWorker({
    ...optionsOf(settings),
    tasks,
    workers: { count: 1, capacity: 1, maxTasks: 1, lanes: settings.worker.lanes },
    start: false,
    onFailure: failure.tell,
  })
  const workerId = `${worker.info.processId}/1`
  const started = Promise.withResolvers<string>()
  const over = Promise.withResolvers<End>()
  let taskId: string | undefined
  using _ = worker.on('task.*', (event) => {
    if (taskId !== undefined) {
      if (event.taskId === taskId && isEnd(event)) over.resolve(event)
    } else if (event.type === 'task.started' && event.data.workerId === workerId) {
      taskId = event.taskId
      say(call, { type: 'claimed', taskId, task: event.data.type }, `claimed ${event.data.type} ${taskId}`)
      started.resolve(taskId)
    }
  })
  // A store that does not answer keeps no job from ending.
  const begun = (async () => {
    await worker.start()
    ready.tell(true)
    // An answer of the store comes after all that it gave away before.
    await worker.stats()
  })()
  await Promise.race([begun, ended(call.signal, failure.failed)])
  begun.catch(() => undefined)
  const isOver = new AbortController()
  const patience =
    taskId === undefined ? call.system.sleep(wait, AbortSignal.any([call.signal, isOver.signal])) : undefined
  await Promise.race([started.promise, failure.failed, ...(patience === undefined ? [] : [patience])])
  isOver.abort()
  if (taskId === undefined) {
    const { released } = await worker.stop()
    if (released > 0) return left(call, released)
    // It may have come in the last moment, and went back then.
    say(call, { type: 'idle' }, 'nothing to do')
    return cliExitCodes.ok
  }
  // A stop settles within its grace, and what ended until then was reported before.
  const stopped = ended(call.signal, failure.failed).then(() => worker.stop())
  const end = await Promise.race([over.promise, failure.failed, stopped.then(() => undefined)])
  const { released } = await (call.signal.aborted ? stopped : worker.stop())
  if (end === undefined) return left(call, released)
  const dueAt = dueIn(end)
  const due = dueAt === undefined ? {} : { dueAt }
  say(
    call,
    { type: 'ended', taskId, how: end.type, ...due },
    `${end.type.replace('.', ' ')} ${taskId}${dueAt === undefined ? '' : `, due ${new Date(dueAt).toISOString()}`}`,
  )
  if (end.type === 'task.waiting') return waitingExit
  return hasFailed(end) ? cliExitCodes.failed : cliExitCodes.ok
}

/** The store has not said how its task ended: another worker takes it over when its lease ends, if it has not. */
function left(call: WorkerCall['call'], released: number): number {
  say(call, { type: 'stopped', drained: false, released }, 'stopped; the store has not answered')
  return cliExitCodes.failed
}

const ends: ReadonlySet<string> = new Set([
  'task.completed',
  'task.failed',
  'task.canceled',
  'task.waiting',
  'task.requeued',
])

function isEnd(event: RuntimeEvent): event is End {
  return ends.has(event.type)
}

/** The first time at which a wait of it ends by itself. */
function dueIn(end: End): number | undefined {
  const times = end.type === 'task.waiting' ? Object.values(end.data.dueAt ?? {}) : []
  return times.length === 0 ? undefined : Math.min(...times)
}

function hasFailed(end: End): boolean {
  return end.type === 'task.failed' || (end.type === 'task.requeued' && !givenBack.has(end.data.reason))
}

const givenBack: ReadonlySet<string> = new Set(['drained', 'yielded'])
