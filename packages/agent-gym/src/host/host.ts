// A process of a scenario: a runtime with the gym's task types, led over the process's channel by JSON lines.
import { mkdirSync } from 'node:fs'
import type { Runtime } from '@ku0/agent-runtime'
import type { Fault } from '../scenario/scenario.ts'
import { createGates, type Gates } from '../work/gates.ts'
import { type Ledger, openLedger } from '../work/ledger.ts'
import { planTasks, tasksOfWave, type TraceReplay } from '../work/plan.ts'
import type { World } from '../work/attend.ts'
import { gymTasks } from '../work/task-types.ts'
import { readTrace } from '../work/trace.ts'
import { scenarioFiles } from '../run/files.ts'
import { type Caller, createCaller } from './calls.ts'
import { collectFacts } from './collect.ts'
import { type Notebook, openNotebook, wallNow } from './notes.ts'
import { type OpenRuntime, openRuntime } from './open-runtime.ts'
import type { Answer, CancelNote, HostMessage, HostOptions, Request, RequestKind } from './protocol.ts'
import { type ResourceCount, type ResourceWatch, watchResources } from './resources.ts'
import { submitArrival } from './submit.ts'

/** How long what is left may take to end by itself after the last task, on a busy machine. Nothing left ends the wait. */
const settleMs = 5000

// Reading from the channel takes a handle and listeners of its own: they are there before the first count.
process.on('message', (message) => void answer(message as Request))
process.on('disconnect', () => process.exit(0))

let host: Host | undefined

interface Host {
  readonly options: HostOptions
  readonly watch: ResourceWatch
  readonly before: ResourceCount
  readonly notes: Notebook
  readonly gates: Gates
  readonly ledger: Ledger
  readonly world: World
  readonly opened: OpenRuntime
  readonly caller: () => Caller
}

async function answer(request: Request): Promise<void> {
  try {
    const value = await handle(request)
    host?.notes.flush()
    say({ kind: 'answer', id: request.id, value })
    if (request.kind === 'close') letGo()
  } catch (error) {
    const { stack, message } = error as Error
    say({ kind: 'refused', id: request.id, message: stack ?? message })
  }
}

async function handle(request: Request): Promise<Answer<RequestKind>> {
  if (request.kind === 'open') return open(request.options)
  if (host === undefined) throw new Error(`${request.kind} before open`)
  const { opened, watch, notes, gates, world, options } = host
  const { runtime } = opened
  switch (request.kind) {
    case 'startWorkers': {
      const at = wallNow()
      await runtime.start()
      return { at }
    }
    case 'setClients':
      for (const { name, ...settings } of options.scenario.clients) await runtime.clients.set(name, settings)
      return null
    case 'submit': {
      const arrival = options.scenario.arrivals[request.arrival]
      if (arrival === undefined) throw new Error(`no arrival ${request.arrival}`)
      const tasks = planTasks(options.scenario, options.seed, traceOf(options))
      await submitArrival(
        runtime,
        notes,
        arrival,
        tasksOfWave(tasks, arrival.groups, request.share),
        options.seed,
      )
      return null
    }
    case 'cancel':
      return Promise.all(request.taskIds.map((taskId) => cancel(taskId)))
    case 'call': {
      const fault = options.scenario.faults[request.fault]
      if (fault?.do !== 'call') throw new Error(`fault ${request.fault} is no call`)
      for (const [i, call] of fault.calls.entries()) await host.caller().call(call, request.fault * 1000 + i)
      return null
    }
    case 'answerBudgets':
      return answerBudgets(runtime, request.answer)
    case 'openGate':
      gates.open(request.gate)
      return null
    case 'pending': {
      const { depth, delayed, running, waiting } = await runtime.stats()
      return { queued: depth.interactive + depth.normal + depth.batch, delayed, running, waiting }
    }
    case 'resources':
      return request.baseline === undefined
        ? watch.count(world.signals)
        : watch.countSettled(world.signals, request.baseline, settleMs)
    case 'collect':
      if (opened.inMemory === undefined) throw new Error('a database is read when its processes are gone')
      return collectFacts(opened.inMemory, request.file, options.scenario)
    case 'close':
      return close(host)
  }
}

async function open(options: HostOptions) {
  // Where throughput is measured nothing may stand in the way.
  const watch = watchResources({ timers: options.scenario.evidence === 'full' })
  const before = watch.count([])
  const files = scenarioFiles(options.folder)
  mkdirSync(files.tools, { recursive: true })
  const notes = openNotebook((batch) => say({ kind: 'notes', notes: batch }))
  const gates = createGates(options.openGates)
  const ledger = openLedger(files.ledger, { sync: options.scenario.evidence === 'full' })
  const world: World = {
    processName: options.processName,
    folders: files,
    ledger,
    gates,
    notes,
    watched: options.scenario.evidence === 'full',
    visits: new Map(),
    signals: [],
  }
  const opened = await openRuntime(options, gymTasks(world, options.scenario.workload))
  // Whoever listens has the store hand over every event.
  if (options.scenario.workload.some(({ budget }) => budget !== undefined))
    opened.runtime.on('task.waiting', ({ taskId, data, elsewhere }) => {
      if (data.reason === 'budget' && elsewhere !== true) notes.add({ kind: 'parked', taskId, at: wallNow() })
    })
  let caller: Caller | undefined
  host = {
    options,
    watch,
    before,
    notes,
    gates,
    ledger,
    world,
    opened,
    caller: () => (caller ??= createCaller(opened.runtime, notes, options.processName, options.seed)),
  }
  const { kind, durability, versions, processId } = opened.runtime.info
  return { openMs: performance.now(), storeKind: kind, durability, versions, processId }
}

async function cancel(taskId: string): Promise<CancelNote> {
  if (host === undefined) throw new Error('cancel before open')
  const { runtime } = host.opened
  const at = wallNow()
  const canceled = await runtime.cancel(taskId, { reason: 'gym' })
  const acknowledgedAt = wallNow()
  const status = await runtime.status(taskId)
  return { taskId, at, acknowledgedAt, canceled, stateAfter: status?.state ?? 'unknown' }
}

async function answerBudgets(
  { budgets }: Runtime,
  { answer: how, raise = {} }: Extract<Fault, { do: 'answer-budgets' }>,
): Promise<number> {
  const { budgets: asking } = await budgets.list({ limit: 1000 })
  for (const { taskId } of asking)
    await (how === 'stop' ? budgets.stop(taskId) : budgets.continue(taskId, { raise }))
  return asking.length
}

async function close({ opened, watch, notes, ledger, world, before }: Host) {
  const { staleWrites } = await opened.runtime.stats()
  await opened.close()
  await ledger.close()
  notes.close()
  const times = [...world.visits.values()]
  const repeated = times.reduce((sum, count) => sum + count - 1, 0)
  return {
    staleWrites,
    visits: { entered: times.length, repeated },
    before,
    after: await watch.countSettled(world.signals, before, settleMs),
  }
}

/** Nothing of the gym keeps the process alive any more; what does is the runtime's. */
function letGo(): void {
  process.removeAllListeners('disconnect')
  process.disconnect?.()
}

function traceOf({ trace }: HostOptions): TraceReplay | undefined {
  return trace && { requests: readTrace(trace.file), speedup: trace.speedup }
}

function say(message: HostMessage): void {
  // A parent that is gone hears nothing more; the channel's end stops this process.
  if (process.connected) process.send?.(message)
}
