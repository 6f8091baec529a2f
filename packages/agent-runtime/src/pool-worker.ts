// The program of one worker process of a pool. It is started by `createPool` and hears from it by messages.
import { describeError, type Timer } from '@ku0/agent-runtime-core'
import type { TaskDefinition } from './api/task-definition.ts'
import { createWorker } from './create-worker.ts'
import type { WorkerProcessOptions } from './options.ts'
import type { FromWorker, ToWorker, WorkerStart } from './pool/worker-words.ts'
import type { StoreWorker } from './store-worker.ts'
import { backgroundTimers } from './system.ts'
import { definitionsIn } from './terms/task-module.ts'

/** The time between two reports of what it runs. */
const REPORT_MS = 50

async function work(start: WorkerStart, stopAsked: Promise<ToWorker & { kind: 'stop' }>): Promise<void> {
  const { store, capacity, types, lanes, durability, config } = start
  const module = (await import(start.module)) as Readonly<Record<string, unknown>>
  const tasks = definitionsIn(module, start.module).map((task) => ofModule(task, start.module))
  const { codecs, payloadCodec, rateLimited } = module as Pick<WorkerProcessOptions, BroughtName>
  const brought = { codecs, payloadCodec, rateLimited }
  const worker = await createWorker({
    store,
    tasks,
    workers: { capacity, types, lanes },
    durability,
    config,
    ...brought,
  })
  const reports = reportWork(worker as StoreWorker)
  const [workerId = ''] = Object.keys(worker.pool.stats().workers)
  await say({ kind: 'ready', workerId, types: types ?? tasks.map(({ type }) => type) })
  const { drain, graceMs } = await stopAsked
  const report = await worker.stop({ drain, graceMs })
  reports[Symbol.dispose]()
  await say({ kind: 'stopped', ...report })
}

/** The options of a worker that its module brings, because functions do not cross to a process. */
type BroughtName = 'codecs' | 'payloadCodec' | 'rateLimited'

/** An isolated task type that names no module is found where this worker found it. */
function ofModule(task: TaskDefinition, module: string): TaskDefinition {
  return task.isolation === 'inline' || task.module !== undefined ? task : { ...task, module }
}

/** Reports what the worker runs, a while after it has changed. */
function reportWork(worker: StoreWorker): Disposable {
  let timer: Timer | undefined
  const report = () => {
    timer = undefined
    const { totalCompleted, totalFailed, workers } = worker.pool.stats()
    const { inFlight = 0, currentTask = null, status } = Object.values(workers)[0] ?? {}
    const drainAsked = status === 'draining'
    void say({
      kind: 'work',
      inFlight,
      currentTask,
      drainAsked,
      completed: totalCompleted,
      failed: totalFailed,
    })
  }
  const soon = () => {
    timer ??= backgroundTimers.after(REPORT_MS, report)
  }
  const listening = [worker.onWork(soon), worker.pool.on(soon)]
  return {
    [Symbol.dispose]: () => {
      for (const it of listening) it[Symbol.dispose]()
      timer?.cancel()
      report()
    },
  }
}

/** A pool that is gone hears nothing. */
function say(word: FromWorker): Promise<void> {
  return new Promise((said) => {
    if (process.connected) process.send?.(word, () => said())
    else said()
  })
}

async function serve(start: WorkerStart, stopAsked: Promise<ToWorker & { kind: 'stop' }>): Promise<void> {
  try {
    await work(start, stopAsked)
    // Nothing else keeps the process.
    if (process.connected) process.disconnect?.()
  } catch (error) {
    await say({ kind: 'refused', error: describeError(error) })
    process.exit(1)
  }
}

function run(): void {
  if (process.send === undefined) {
    process.stderr.write('this program is a worker process of createPool; call createPool instead\n')
    process.exitCode = 1
    return
  }
  const stop = Promise.withResolvers<ToWorker & { kind: 'stop' }>()
  const drain = () => stop.resolve({ kind: 'stop', drain: true })
  // A terminal sends SIGINT to all its processes: the pool decides what it means.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', drain)
  process.on('disconnect', drain)
  process.on('message', (word: ToWorker) => {
    if (word.kind === 'stop') {
      stop.resolve(word)
      return
    }
    void serve(word, stop.promise)
  })
}

run()
