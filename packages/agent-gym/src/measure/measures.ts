import { type MeasureName, quantiles, type SpreadName, type SpreadOf } from './measure-names.ts'
import type { Lane } from '@ku0/agent-runtime-core'
import { accountFaults } from './accounts.ts'
import { admissionAt } from './admission.ts'
import {
  changedIdempotencyKeys,
  duplicateEffects,
  lateEffects,
  missingEffects,
  reorderedEffects,
  strayEffects,
} from './effects.ts'
import {
  cancelAcknowledgements,
  cancelDisappearances,
  cancelSignals,
  drains,
  pickupLatencies,
  queueWaits,
  resumes,
  schedulerLatencies,
  submitLatencies,
  takeovers,
  wakes,
} from './latencies.ts'
import { marketFaults } from './market.ts'
import type { Measurements, Pass, Run, TaskFact } from './measurements.ts'
import { orderHashOf } from './order-hash.ts'
import { fifoInversions, laneInversions } from './order.ts'
import { startsByWindow } from './quota-windows.ts'
import { historyFaults, inventedTasks, lostTasks, startedAfterCancel, wrongResults } from './outcomes.ts'
import { dueError, serviceError, serviceJain, serviceOf, servingsOf, shareGap } from './service.ts'
import { highest, medianOf, round, spreadOf } from './statistics.ts'
import { streamFaults } from './streams.ts'
import { agentCrashes, restartFaults, restartsOf } from './supervision.ts'
import { fairness, peakInFlight, stepsPerSecond, tasksPerSecond } from './throughput.ts'
import { depthOver, firstStarts, peakOf } from './timeline.ts'

/** Which part of the data a measure looks at. */
export interface About {
  readonly lane?: Lane | undefined
  readonly group?: string | undefined
  readonly process?: string | undefined
  readonly depth?: number | undefined
  readonly reason?: string | undefined
  readonly model?: string | undefined
  readonly client?: string | undefined
  readonly of?: string | undefined
  readonly call?: string | undefined
}

/** A value that was measured; null when there was nothing to measure it on. */
export interface Measured {
  readonly value: number | string | boolean | null
  readonly unit: string
  /** On how many observations it rests. */
  readonly samples: number
  /** The value of each run, where one stands for several. */
  readonly rounds?: readonly number[]
  /** The cases behind a count, for a reader; some of them. */
  readonly cases?: readonly string[]
}

/** Measures by name: each a pure function of what was seen. */
interface Measure {
  readonly about: string
  measure(measurements: Measurements, about: About): Measured
}

/** The value of a measure. */
export function measure(name: string, measurements: Measurements, about: About = {}): Measured {
  const found = measures.get(name)
  if (found === undefined) throw new Error(`no measure is named ${name}`)
  return found.measure(measurements, about)
}

const inGroup = (tasks: readonly TaskFact[], { group, client }: About) =>
  group === undefined && client === undefined
    ? tasks
    : tasks.filter((task) => (group ?? task.group) === task.group && (client ?? task.client) === task.client)
const byState = (state: TaskFact['state']) => (run: Run, about: About) =>
  inGroup(run.tasks, about).filter(
    (task) => task.state === state && (about.reason ?? task.reason) === task.reason,
  )
const submissionsOf = (run: Run, about: About) => {
  const groups = new Map(run.workload.map(({ n, group }) => [n, group]))
  return run.submissions.filter(
    ({ n, process }) =>
      (about.group === undefined || groups.get(n) === about.group) && (about.process ?? process) === process,
  )
}
const eventsOf = (type: string) => (run: Run, about: About) =>
  inGroup(run.tasks, about).flatMap((task) =>
    task.events.filter(
      (event) => event.type === type && (about.reason ?? event.data['reason']) === event.data['reason'],
    ),
  )

const all: Readonly<Record<MeasureName, Measure>> = {
  submitted: cases('calls of submit that were answered', submissionsOf),
  accepted: cases('submissions accepted, repeated ones included', (run, about) =>
    submissionsOf(run, about).filter(({ accepted }) => accepted),
  ),
  rejected: cases('submissions refused, for `reason` where one is given', (run, about) =>
    submissionsOf(run, about).filter(
      ({ accepted, reason }) => !accepted && (about.reason ?? reason) === reason,
    ),
  ),
  deduplicated: cases('submissions answered by an earlier one with the same key', (run, about) =>
    submissionsOf(run, about).filter(({ deduplicated }) => deduplicated === true),
  ),
  distinctTasks: cases('different tasks behind the accepted submissions', (run, about) => [
    ...new Set(submissionsOf(run, about).flatMap(({ accepted, taskId }) => (accepted ? [taskId] : []))),
  ]),
  completed: cases('tasks completed, by `process` where one is given', (run, about) =>
    completedBy(run, byState('completed')(run, about), about.process),
  ),
  failed: cases('tasks failed, of the kind `reason` where one is given', byState('failed')),
  canceled: cases('tasks canceled', byState('canceled')),
  lost: cases('acknowledged tasks that are not in the store, or in no final state', lostTasks),
  invented: cases('rows that no submission explains', inventedTasks),
  wrongResults: cases('completed tasks whose output or file is not what the tree makes it', wrongResults),
  historyFaults: cases(
    'gaps in events, tokens that do not rise by one, ends by another than the holder',
    historyFaults,
  ),
  duplicateEffects: cases(
    'effects repeated under one lease, or after their memo; no-op tasks entered twice',
    (run) => [...duplicateEffects(run), ...Array.from({ length: run.visits.repeated }, () => 'no-op')],
    (run) => run.ledger.length + run.visits.entered,
  ),
  missingEffects: cases('steps of completed tasks that no witness saw', missingEffects),
  strayEffects: cases('effects of no known task or step', strayEffects),
  reordered: cases('effects out of the order of their steps', reorderedEffects),
  changedIdempotencyKeys: cases('steps whose idempotency key changed', changedIdempotencyKeys),
  lateEffects: cases('effects after one of a later lease of the task', lateEffects),
  ledgerFaults: total('lines', 'lines of the ledger that cannot be read', (run) => run.ledgerFaults),
  effects: cases('effects in the ledger', (run) => run.ledger),
  laneInversions: total(
    'pairs',
    'starts of a task while a more urgent lane had one queued',
    laneInversions,
    startsOf,
  ),
  fifoInversions: total(
    'pairs',
    'starts of a task while an older one of its lane was queued',
    fifoInversions,
    startsOf,
  ),
  requeues: cases('returns to the queue, for `reason` where one is given', eventsOf('task.requeued')),
  waits: cases('waits without a slot, for `reason` where one is given', eventsOf('task.waiting')),
  budgetsAsked: cases('soft lines of budgets that were passed', eventsOf('budget.asked')),
  budgetsContinued: cases('budgets that asked and were let go on', eventsOf('budget.continued')),
  tokensCharged: total('tokens', 'tokens charged by the tasks and all below them', (run, about) =>
    treesOf(run.tasks, inGroup(run.tasks, about)).reduce((sum, { tokens }) => sum + tokens, 0),
  ),
  partialResults: total(
    'results',
    'results handed over by tasks that were ended for a budget',
    (run, about) => inGroup(run.tasks, about).reduce((sum, { partial }) => sum + partial.length, 0),
  ),
  calls: cases(
    'answers to `call` about the route, swarm or agent `of`, with `reason` where one is given',
    callsOf,
  ),
  highestScar: worst(
    '',
    'the highest scar that a route reported',
    (run, about) => highest(scarsOf(run, about)),
    (run, about) => scarsOf(run, about).length,
  ),
  scar: peak('', 'the scar of the route at the end; 0 where the store knows none', (run, { of }) =>
    highest(run.routes.flatMap(({ route, scar }) => (route === of ? [scar] : []))),
  ),
  circuit: {
    about: 'how the circuit of the route stands at the end; `closed` where the store knows none',
    measure: ({ runs }, { of }) => {
      const found = runs.map(({ routes }) => routes.find(({ route }) => route === of)?.circuit ?? 'closed')
      return {
        value: new Set(found).size > 1 ? 'mixed' : (found[0] ?? null),
        unit: '',
        samples: found.length,
      }
    },
  },
  swarmRestUs: worst(
    'µs',
    'CPU time that the swarm has left of its budget at the end',
    (run, { of }) => run.swarms.find(({ name }) => name === of)?.rest.cpuTimeUs ?? null,
    (run, { of }) => run.swarms.filter(({ name }) => name === of).length,
  ),
  evaluations: total('', 'evaluations of the agent that the store has counted', (run, { of }) =>
    run.agents.reduce((sum, agent) => sum + (agent.agentId === of ? agent.evaluations : 0), 0),
  ),
  reputation: worst(
    '',
    'the reputation of the agent at the end, 0 to 1',
    (run, { of }) => run.agents.find(({ agentId }) => agentId === of)?.reputation ?? null,
    (run, { of }) => run.agents.filter(({ agentId }) => agentId === of).length,
  ),
  reputationError: worst(
    'millionths',
    'how far the reputation is from the moving average of the kept evaluations, computed again',
    (run, { of }) => reputationError(run, of),
    (run, { of }) => run.agents.filter(({ agentId }) => agentId === of).length,
  ),
  firstDrift: worst(
    '',
    "the number of the agent's first evaluation that was reported as far from its average",
    (run, about) => driftsOf(run, about)[0] ?? null,
    (run, about) => driftsOf(run, about).length,
  ),
  faults: total('faults', 'faults brought while there was work', (run) => run.faults),
  restarts: cases('children that supervisors started again', (run, about) =>
    restartsOf(inGroup(run.tasks, about)),
  ),
  agentCrashes: cases('handlers of supervised agents that threw by themselves', (run, about) =>
    agentCrashes(run, inGroup(run.tasks, about)),
  ),
  restartFaults: cases(
    'what supervisors did otherwise than a model of them, and agents that they lost',
    restartFaults,
    (run) => restartsOf(run.tasks).length,
  ),
  streamFaults: cases(
    'events of pipelines that are lost, doubled or out of order, in the log or at the next stage',
    streamFaults,
    (run) => run.pipelines.reduce((sum, { events }) => sum + events.length, 0),
  ),
  marketFaults: cases(
    'what a marketplace did otherwise than a model of it: proposals, contracts, work, stages and evaluations',
    marketFaults,
    (run) => run.tasks.filter(({ type }) => type.startsWith('market-')).length,
  ),
  agentsAtWork: total(
    'agents',
    'agents of marketplaces that have done a job',
    (run) => run.agents.filter(({ evaluations }) => evaluations > 0).length,
  ),
  streamed: total('events', 'events in the logs of pipelines', (run) =>
    run.pipelines.reduce((sum, { events }) => sum + events.length, 0),
  ),
  accountFaults: cases(
    'sums of credits that their entries do not make, purchases made twice, tasks that were not reserved for once or settled at their cost',
    accountFaults,
    (run) => run.accounts.reduce((sum, { entries }) => sum + entries.length, 0),
  ),
  credits: total('credits', 'credits of the client at the end', (run, { client }) =>
    run.accounts.reduce((sum, account) => sum + (account.client === client ? account.credits : 0), 0),
  ),
  maxAttempt: peak('attempts', 'the highest attempt of a task', (run, about) =>
    highest(inGroup(run.tasks, about).map(({ attempt }) => attempt)),
  ),
  maxCrashes: peak('crashes', 'the most leases of one task that ended by a crash', (run, about) =>
    highest(inGroup(run.tasks, about).map(({ crashes }) => crashes)),
  ),
  staleWrites: total(
    'writes',
    'writes refused because their lease was gone, as the processes counted at their end',
    (run) => run.staleWrites,
  ),
  notCanceledAtAck: cases(
    'cancellations whose task was not canceled when they were acknowledged',
    (run) => run.cancels.filter(({ canceled, stateAfter }) => !canceled || stateAfter !== 'canceled'),
    (run) => run.cancels.length,
  ),
  startedAfterCancel: cases(
    'tasks started after their cancellation',
    startedAfterCancel,
    (run) => run.cancels.length,
  ),
  leaks: total(
    'resources',
    'processes, handles, timers, listeners, leases and quota counters left when all was over',
    (run) => run.leaks.reduce((sum, { count }) => sum + count, 0),
    () => 1,
    (run) => run.leaks.map(({ kind, what, count }) => `${kind}: ${count} × ${what}`),
  ),
  peakInFlight: peak(
    'tasks',
    'the most tasks in flight at once, at the end of a ms',
    (run, { group, model }) =>
      peakInFlight(run, { ...(group !== undefined && { group }), ...(model !== undefined && { model }) }),
  ),
  peakDepth: peak('tasks', 'the most tasks queued at once, at the end of a ms', (run, { lane }) =>
    peakOf(depthOver(run, lane)),
  ),
  crashesOfProcesses: cases('processes that died of SIGKILL', (run, { process }) =>
    run.lives.filter((life) => life.exitSignal === 'SIGKILL' && (process ?? life.process) === life.process),
  ),
  exitCode: {
    about: 'what the process exited with after SIGTERM; `mixed` of several',
    measure: ({ runs }, { process }) => {
      const lives = runs.flatMap((run) =>
        run.lives.filter((life) => life.terminatedAt !== null && life.process === process),
      )
      const codes = new Set(lives.map(({ exitCode, exitSignal }) => exitCode ?? exitSignal))
      const [code = null] = codes
      return { value: codes.size > 1 ? 'mixed' : code, unit: '', samples: lives.length }
    },
  },
  admission: {
    about: 'what a lane is answered at a queue depth',
    measure: ({ runs }, { lane, depth }) => {
      if (lane === undefined || depth === undefined) throw new Error('admission needs a lane and a depth')
      const answers = new Set(runs.map((run) => admissionAt(run, lane, depth)))
      const [answer = null] = answers
      return {
        value: answers.size > 1 ? 'mixed' : answer,
        unit: '',
        samples: answer === null ? 0 : runs.length,
      }
    },
  },
  resumeUnder1sRate: {
    about: 'the share of tasks in flight at a kill that took a new step within 1 s of the restart',
    measure: ({ runs }) => {
      const found = runs.flatMap(resumes)
      const quick = found.filter(({ ms }) => ms !== null && ms < 1000)
      return {
        value: found.length === 0 ? null : quick.length / found.length,
        unit: '',
        samples: found.length,
      }
    },
  },
  orderHashStable: {
    about: 'every run has the same order hash',
    measure: ({ runs }) => {
      const hashes = runs.map(orderHashOf)
      const stable = hashes.length < 2 || hashes.includes(null) ? null : new Set(hashes).size === 1
      return { value: stable, unit: '', samples: hashes.length }
    },
  },
  throughputPerSec: best('tasks/s', 'tasks completed a second', tasksPerSecond),
  stepsPerSec: best('steps/s', 'steps stored a second', stepsPerSecond),
  jain: median('', "Jain's index of the starts by process, or by worker of one process", fairness),
  serviceJain: median(
    '',
    "Jain's index of what clients were served for each credit while all had tasks queued",
    serviceJain,
  ),
  serviceError: worst(
    'of all service',
    "the largest difference of a client's part of the service from its due while all had tasks queued; 0 to 1",
    serviceError,
    servedStarts,
  ),
  dueError: worst(
    'of its due',
    "the largest difference of a client's part of the service from its due while all had tasks queued, as a part of its due",
    dueError,
    servedStarts,
  ),
  servicePart: worst(
    'of all service',
    "the client's part of the service while all had tasks queued; 0 to 1",
    (run, { client }) => serviceOf(run)?.find((each) => each.client === client)?.part ?? null,
    servedStarts,
  ),
  shareGap: worst(
    'largest charges',
    'how far the weighed service of two clients was apart while all had tasks queued, at most',
    shareGap,
    servedStarts,
  ),
  firstStart: worst(
    '',
    'the place of the first start among all first starts, in the order of dispatch',
    (run, about) => places(run, about)[0] ?? null,
    (run, about) => places(run, about).length,
  ),
  lastStart: worst(
    '',
    'the place of the last start among all first starts, in the order of dispatch',
    (run, about) => places(run, about).at(-1) ?? null,
    (run, about) => places(run, about).length,
  ),
  peakPerWindow: peak(
    'starts',
    'the most first starts in one window of the quotas',
    (run, { group, model }) => highest(startsByWindow(run, { group, model })),
  ),
  peakTokensPerWindow: peak(
    'tokens',
    'the most tokens charged by tasks that first started in one window of the quotas',
    (run, { group, model }) => highest(startsByWindow(run, { group, model }, ({ tokens }) => tokens)),
  ),
  ...spread(
    'schedulerLatencyMs',
    'from submit, or the moment a slot was free, to the handler',
    schedulerLatencies,
  ),
  ...spread('pickupMs', 'from the call of submit to the handler', pickupLatencies),
  ...spread('submitMs', 'from the call of submit to its answer', submitLatencies),
  ...spread('queueWaitMs', 'from queued to started', (run, about) =>
    queueWaits({ ...run, tasks: inGroup(run.tasks, about) }, about.lane),
  ),
  ...spread('wakeMs', 'from the due time of a wait to the start of the next pass', (run, { group }) =>
    wakes(run, group),
  ),
  // A task that never took a new step did so in infinite time.
  ...spread('resumeMs', 'from the restart of a killed process to the first new step', (run) =>
    resumes(run).map(({ ms }) => ms ?? Infinity),
  ),
  ...spread('takeoverMs', "from the end of a killed process to its tasks' next start", takeovers),
  ...spread('cancelAckMs', 'from cancel to its acknowledgement', cancelAcknowledgements),
  ...spread('cancelSignalMs', "from cancel to the handler's signal", cancelSignals),
  ...spread('cancelGoneMs', "from cancel until the tool's processes were gone", cancelDisappearances),
  ...spread('drainMs', 'from SIGTERM to the end of the process', (run, { process }) => drains(run, process)),
}

const measures: ReadonlyMap<string, Measure> = new Map(Object.entries(all))

/** What a measure is, for documentation. */
export function describeMeasure(name: string): string {
  return measures.get(name)?.about ?? ''
}

function callsOf(run: Run, { of, call, reason }: About): Run['calls'] {
  return run.calls.filter(
    (each) =>
      (of ?? each.of) === each.of &&
      (call ?? each.call) === each.call &&
      (reason ?? each.outcome) === each.outcome,
  )
}

function scarsOf(run: Run, { of }: About): readonly number[] {
  return run.calls.flatMap((each) =>
    (each.call === 'route' || each.call === 'probe') && each.of === of ? [each.value ?? 0] : [],
  )
}

/** The numbers of the evaluations that drifted, in order. */
function driftsOf(run: Run, { of }: About): readonly number[] {
  const drifts = callsOf(run, { of, call: 'judge', reason: 'drifted' })
  return drifts.flatMap(({ seq }) => seq ?? []).toSorted((a, b) => a - b)
}

/** The new composite counts 0.3, what was there before 0.7. */
function reputationError({ agents }: Run, of: string | undefined): number | null {
  const agent = agents.find(({ agentId }) => agentId === of)
  const [first, ...rest] = agent?.composites ?? []
  if (agent === undefined || first === undefined) return null
  const reckoned = rest.reduce((reputation, composite) => 0.3 * composite + 0.7 * reputation, first)
  return Math.abs(reckoned - agent.reputation) * 1e6
}

/** The tasks and all below them. */
function treesOf(tasks: readonly TaskFact[], tops: readonly TaskFact[]): readonly TaskFact[] {
  const found = new Set(tops)
  for (let grew = true; grew;) {
    const ids = new Set([...found].map(({ taskId }) => taskId))
    const below = tasks.filter((task) => !found.has(task) && task.parent !== null && ids.has(task.parent))
    for (const task of below) found.add(task)
    grew = below.length > 0
  }
  return [...found]
}

/** Places of the first starts of some tasks among all, from 1. */
function places(run: Run, about: About): readonly number[] {
  const wanted = new Set(inGroup(run.tasks, about))
  return firstStarts(run).flatMap(({ task }, i) => (wanted.has(task) ? [i + 1] : []))
}

/** Of the tasks those whose last pass was in the process. */
function completedBy(run: Run, tasks: readonly TaskFact[], process: string | undefined): readonly TaskFact[] {
  if (process === undefined) return tasks
  const last = new Map<string, Pass>()
  for (const pass of run.passes) {
    if (pass.token > (last.get(pass.taskId)?.token ?? 0)) last.set(pass.taskId, pass)
  }
  return tasks.filter(({ taskId }) => last.get(taskId)?.process === process)
}

function startsOf(run: Run): number {
  return run.tasks.reduce(
    (sum, { events }) => sum + events.filter(({ type }) => type === 'task.started').length,
    0,
  )
}

/** A count of cases, summed over the runs. */
function cases(
  about: string,
  find: (run: Run, about: About) => readonly unknown[],
  samples: (run: Run) => number = () => 1,
): Measure {
  return total(
    '',
    about,
    (run, query) => find(run, query).length,
    samples,
    (run, query) => find(run, query).slice(0, 5).map(nameCase),
  )
}

function total(
  unit: string,
  about: string,
  one: (run: Run, about: About) => number,
  samples: (run: Run) => number = () => 1,
  examples?: (run: Run, about: About) => readonly string[],
): Measure {
  return {
    about,
    measure: ({ runs }, query) => ({
      value: runs.reduce((sum, run) => sum + one(run, query), 0),
      unit,
      samples: runs.reduce((sum, run) => sum + samples(run), 0),
      ...(examples && { cases: runs.flatMap((run) => examples(run, query)).slice(0, 5) }),
    }),
  }
}

function peak(unit: string, about: string, one: (run: Run, about: About) => number): Measure {
  return {
    about,
    measure: ({ runs }, query) => ({
      value: highest(runs.map((run) => one(run, query))),
      unit,
      samples: runs.length,
    }),
  }
}

function median(unit: string, about: string, one: (run: Run) => number | null): Measure {
  return {
    about,
    measure: ({ runs }) => {
      const values = runs.map(one).filter((value) => value !== null)
      const middle = medianOf(values)
      return { value: middle === null ? null : round(middle), unit, samples: values.length }
    },
  }
}

/** The highest of the runs, whatever it is made of. */
function worst(
  unit: string,
  about: string,
  one: (run: Run, about: About) => number | null,
  samples: (run: Run, about: About) => number,
): Measure {
  return {
    about,
    measure: ({ runs }, query) => {
      const values = runs.map((run) => one(run, query)).filter((value) => value !== null)
      return {
        value: values.length === 0 ? null : round(Math.max(...values)),
        unit,
        samples: runs.reduce((sum, run) => sum + samples(run, query), 0),
      }
    },
  }
}

/** First starts that shares are told by. */
function servedStarts(run: Run): number {
  return servingsOf(run).filter(({ stretch }) => stretch !== null).length
}

/** The highest of the runs: what else a machine does can only slow a run down. Every run is listed beside it. */
function best(unit: string, about: string, one: (run: Run) => number | null): Measure {
  return {
    about: `${about}; the best of the runs, each of which is listed`,
    measure: ({ runs }) => {
      const values = runs.map(one).filter((value) => value !== null)
      const rounds = values.map(round)
      return { value: rounds.length === 0 ? null : Math.max(...rounds), unit, samples: rounds.length, rounds }
    },
  }
}

/**
 * Measures of one set of durations: each quantile over all runs, and its median over the runs, for bounds that one
 * stall of the machine must not decide.
 */
function spread<Name extends SpreadName>(
  name: Name,
  about: string,
  one: (run: Run, about: About) => readonly number[],
): Readonly<Record<SpreadOf<Name>, Measure>> {
  const measured: Record<string, Measure> = Object.fromEntries(
    quantiles.flatMap((quantile): [string, Measure][] => [
      [
        `${name}.${quantile}`,
        {
          about: `${about}, ${quantile}`,
          measure: ({ runs }, query) => {
            const found = spreadOf(runs.flatMap((run) => one(run, query)))
            return { value: found?.[quantile] ?? null, unit: 'ms', samples: found?.count ?? 0 }
          },
        },
      ],
      [
        `${name}.${quantile}.median`,
        {
          about: `${about}, ${quantile} of each run; the median of the runs, each of which is listed`,
          measure: ({ runs }, query) => {
            const found = runs.map((run) => spreadOf(one(run, query))).filter((each) => each !== null)
            const rounds = found.map((each) => round(each[quantile]))
            const samples = found.reduce((sum, { count }) => sum + count, 0)
            return { value: medianOf(rounds), unit: 'ms', samples, rounds: rounds.filter(Number.isFinite) }
          },
        },
      ],
    ]),
  )
  return measured as Readonly<Record<SpreadOf<Name>, Measure>>
}

function nameCase(found: unknown): string {
  if (typeof found !== 'object' || found === null) return String(found)
  const { taskId, stepKey, state } = found as { taskId?: string; stepKey?: string; state?: string }
  return (
    [taskId, stepKey, state].filter((part) => part !== undefined).join(' ') ||
    JSON.stringify(found).slice(0, 120)
  )
}
