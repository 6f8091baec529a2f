import {
  MICRO,
  type BudgetRecord,
  type EventData,
  type Explanation,
  type Lane,
  marketStageAfter,
  marketStageIn,
  promiseIn,
  type OpenChildren,
  type OpenWait,
  type Placement,
  type QueueReason,
  type RequeueReason,
  type Requeues,
  type SlotShortage,
  stageKey,
  type StagePart,
  type StepFailure,
  type TaskRecord,
  type WaitReason,
  stageWaitIn,
} from '@ku0/agent-runtime-core'
import {
  cancelReason,
  childWaitText,
  errorSummary,
  failureReason,
  heldBackAmong,
  MAX_OF_CHILD,
  retriedIn,
  type PipelineRow,
  sinceText,
  type TaskRow,
  waitingText,
} from '@ku0/agent-runtime-core/transition'
import { openWaitOf } from './memos.ts'
import { prepareQueueView, type QueueContext, type QueueView } from './queue-view.ts'

/** Children and steps that are named. */
const MAX_CHILDREN = 20
/** So many failures of steps are looked at. */
const MAX_FAILURES = 200

/** Says why a task is where it is, in words and in data. Source: `docs/explain.md`. */
export function prepareExplain(
  context: QueueContext,
  view: ReturnType<typeof prepareQueueView>,
  askingAbove: (row: TaskRow) => BudgetRecord | undefined,
): (row: TaskRow, record: TaskRecord) => Explanation {
  const { db, tables } = context
  const { load, ids } = tables
  const circuitOf = (route: string) => load.work.circuits().find((it) => it.route === route)
  /** What a rejection was decided on; those of earlier versions do not say. */
  const verdictOf = (row: TaskRow) => {
    const data = tables.event(row.id, 1)
    return data === undefined ? undefined : (JSON.parse(data) as EventData['task.rejected']).verdict
  }
  const requeues = db.prepare<[number], { at: number; data: string }>(
    "SELECT at, data FROM event WHERE task = ? AND type = 'task.requeued' ORDER BY seq",
  )
  const lastStart = db
    .prepare<[number], string>(
      "SELECT data FROM event WHERE task = ? AND type = 'task.started' ORDER BY seq DESC LIMIT 1",
    )
    .pluck()

  const stepFailures = db.prepare<[number], { at: number; data: string }>(
    `SELECT at, data FROM event WHERE task = ? AND type = 'step.failed' ORDER BY seq DESC LIMIT ${MAX_FAILURES}`,
  )

  const firstStep = db
    .prepare<[number], string>(
      `SELECT data FROM event WHERE task = ? AND seq <= ${MAX_SEQ_OF_JOB} AND type = 'step.completed' ORDER BY seq LIMIT 1`,
    )
    .pluck()
  const lastSteps = db.prepare<[number], { at: number; data: string }>(
    "SELECT at, data FROM event WHERE task = ? AND type = 'step.completed' ORDER BY seq DESC",
  )

  function agreementOf(record: TaskRecord): Pick<Explanation, 'agreement'> {
    const { labels, client = '', submittedAt } = record
    const name = labels?.['agreement']
    if (name === undefined) return {}
    // What was refused was promised nothing.
    const promised = record.state === 'rejected' ? {} : labels
    const endsAt = 'finishedAt' in record ? record.finishedAt : context.now().at
    const promise = promiseIn(promised ?? {}, submittedAt, endsAt)
    return {
      agreement: {
        name,
        client,
        tier: load.client(client)?.tier ?? 'marketplace',
        ...(promise === undefined ? {} : { promise }),
      },
    }
  }

  return function explain(row: TaskRow, record: TaskRecord): Explanation {
    const base = {
      taskId: record.taskId,
      state: record.state,
      ...(record.model === undefined ? {} : { model: record.model }),
      ...stageOf(row, record),
      ...agreementOf(record),
    }
    switch (record.state) {
      case 'queued': {
        const { summary, ...queued } = explainQueued(row, record.dueAt)
        const { budget } = asking(row)
        const parks =
          budget === undefined
            ? ''
            : `; the budget of task ${budget.taskId} waits for an answer: once started, the task parks at its first step boundary`
        return {
          ...base,
          summary: `${summary}${parks}`,
          ...queued,
          ...(budget === undefined ? {} : { budget }),
          ...requeued(row),
        }
      }
      case 'running':
        return {
          ...base,
          summary: record.held === true ? 'is run by its caller' : runningText(row, record),
          lease: record.lease,
          ...placement(row, record),
          ...asking(row),
          ...requeued(row),
        }
      case 'waiting': {
        const children = childrenOf(row)
        const shortage = shortageOf(row)
        const held = heldBackOf(row)
        // A task may have many events: they are read only for a step that is to be tried again.
        const { moreWaits } = record
        const waits = moreWaits === undefined ? record.waits : load.waits(row.id).map(openWaitOf)
        const isRetrying = waits.some(({ key }) => retriedIn(key) !== undefined)
        const failures = isRetrying ? failuresOf(row) : []
        const failureOf = (step: string) => failures.find((failure) => failure.step === step)
        return {
          ...base,
          summary: waitingText(
            { ...record, waits },
            askingAbove(row),
            children,
            failureOf,
            pipelineOf(row),
            shortage,
            held?.advice,
          ),
          reason: record.waitingFor,
          waits: record.waits,
          ...(moreWaits === undefined ? {} : { moreWaits }),
          ...between(failures, waits),
          ...(children === undefined ? {} : { children }),
          ...(shortage === undefined ? {} : { shortage }),
          ...(held === undefined ? {} : { heldBack: held.heldBack }),
          ...(held?.moreHeldBack === undefined ? {} : { moreHeldBack: held.moreHeldBack }),
          ...asking(row),
          ...(record.divergence === undefined ? {} : { divergence: record.divergence }),
          ...requeued(row),
        }
      }
      case 'completed':
        return { ...base, summary: `completed in attempt ${row.attempt}`, ...requeued(row) }
      case 'failed': {
        const failure = failureReason(
          row,
          record,
          circuitOf(record.type),
          context.now().leaseAt,
          context.config,
        )
        const [cause] = failure.causes ?? []
        const because =
          cause === undefined || failure.message.includes(cause.message) ? '' : `, because: ${cause.message}`
        const message = failure.message === '' ? '' : `: ${failure.message}${because}`
        const circuit =
          failure.circuit === undefined ? '' : `; the circuit of ${record.type} is ${failure.circuit.state}`
        return {
          ...base,
          summary: `failed (${record.kind}) in attempt ${row.attempt}${message}${circuit}`,
          reason: record.kind,
          failure,
          ...requeued(row),
        }
      }
      case 'canceled': {
        const canceled = cancelReason(record)
        const why = record.reason === undefined ? '' : `: ${record.reason}`
        return {
          ...base,
          summary: `was canceled${why}`,
          ...(record.reason === undefined ? {} : { reason: record.reason }),
          ...(canceled === undefined ? {} : { canceled }),
          ...requeued(row),
        }
      }
      case 'rejected': {
        const verdict = verdictOf(row)
        return {
          ...base,
          summary: `was rejected: ${record.message}`,
          reason: record.reason,
          ...(verdict === undefined ? {} : { verdict }),
        }
      }
    }
  }

  function explainQueued(
    row: TaskRow,
    dueAt: number | undefined,
  ): Pick<Explanation, 'summary' | 'waitsFor' | 'until' | 'ahead' | 'place' | 'start' | 'quota' | 'credits'> {
    const queue = view()
    if (dueAt !== undefined)
      return {
        summary: `is due at ${new Date(dueAt).toISOString()}${sinceText(requeued(row).requeued?.last)}`,
        waitsFor: 'delay',
        until: dueAt,
        start: { startsInMs: Math.max(0, dueAt - queue.at), restsOn: { as: 'delay' } },
      }
    const own = queue.streamOf(row)
    if (own === undefined) throw new Error(`queued task ${row.id} is in no stream`)
    const hindered = queue.obstacle(own, row)
    const { place, start } = queue.placeOf(row, own, hindered)
    const { ahead } = place
    const slot = { summary: `waits for a free slot, ${ahead} before it`, waitsFor: 'slot' } as const
    return { ...(hindered ?? slot), ahead, place, start }
  }

  /** The last failure of each step that failed and is to be tried again, the latest first. */
  function failuresOf(row: TaskRow): readonly StepFailure[] {
    const found = new Map<string, StepFailure>()
    for (const { at, data } of stepFailures.all(row.id)) {
      const { key, error, retry } = JSON.parse(data) as EventData['step.failed']
      if (retry !== undefined && !found.has(key))
        found.set(key, { step: key, ...errorSummary(error), retry, at })
    }
    return [...found.values()]
  }

  /** Those of the steps that the task waits to try again. */
  function between(
    failures: readonly StepFailure[],
    waits: readonly OpenWait[],
  ): Pick<Explanation, 'stepFailures'> {
    const open = failures.filter(({ step }) => waits.some(({ key }) => retriedIn(key) === step))
    return open.length === 0 ? {} : { stepFailures: open.slice(0, MAX_CHILDREN) }
  }

  /** The stage that a job of a marketplace is in, which is the one after the last that it has recorded. */
  function stageOf({ id }: TaskRow, { state }: TaskRecord): Pick<Explanation, 'stage'> {
    if (state === 'completed' || recordedIn(firstStep.get(id)) === undefined) return {}
    for (const { data } of lastSteps.all(id)) {
      const recorded = recordedIn(data)
      if (recorded !== undefined) return { stage: marketStageAfter(recorded) }
    }
    return {}
  }

  /** The pipeline of a stage that waits. */
  function pipelineOf({ parent, id }: TaskRow): PipelineRow | undefined {
    const isStage = load.waits(id).some(({ key }) => stageWaitIn(key) !== undefined)
    return isStage && parent !== null ? load.pipeline(parent) : undefined
  }

  /** The slots that the tasks of a pipeline have to share. */
  function shortageOf({ id }: TaskRow): SlotShortage | undefined {
    if (load.pipeline(id) === undefined) return undefined
    return view().shortage(load.openChildren(id).map(({ task }) => load.task(task) as TaskRow))
  }

  /** Which tasks of stages cannot publish: of the pipeline that a task is, or this one of its pipeline. */
  function heldBackOf(row: TaskRow): ReturnType<typeof heldBackAmong> {
    const own = load.pipeline(row.id)
    const pipeline = own ?? pipelineOf(row)
    if (pipeline === undefined) return undefined
    const { parts } = pipeline.log
    const standings = new Map(parts.map((part) => [stageKey(part), part]))
    const waitsOf = (place: StagePart) => {
      const { task: id, ended = true } = standings.get(stageKey(place)) ?? {}
      const task = ended || id === undefined ? undefined : load.task(id)
      if (task?.state !== 'waiting') return []
      // A wait that is not looked at may be for anything.
      return load
        .firstWaits(task.id, MAX_CHILDREN + 1)
        .map(({ key }, at) => (at < MAX_CHILDREN ? stageWaitIn(key) : undefined))
    }
    db.ahead(parts, waitsOf)
    const shown = own === undefined ? parts.filter(({ task }) => task === row.id) : parts
    return heldBackAmong(pipeline, shown, waitsOf)
  }

  function placement(
    row: TaskRow,
    { lease, held }: Extract<TaskRecord, { state: 'running' }>,
  ): Pick<Explanation, 'placement'> {
    const text = held === true ? undefined : lastStart.get(row.id)
    if (text === undefined) return {}
    const { lane, dispatch, waitMs, charge } = JSON.parse(text) as EventData['task.started']
    const found: Placement = {
      workerId: lease.workerId,
      lane,
      dispatch,
      waitMs,
      ...(charge === undefined ? {} : { charge: charge / MICRO }),
      asksToYield: load.lease(dispatch)?.yieldAskedAt !== null,
    }
    return { placement: found }
  }

  function runningText(row: TaskRow, { lease }: Extract<TaskRecord, { state: 'running' }>): string {
    const yields = load.lease(lease.dispatch)?.yieldAskedAt !== null
    return `runs on ${lease.workerId}, attempt ${row.attempt}${yields ? '; it was asked to give way to interactive tasks at its next step boundary' : ''}`
  }

  /** The budget that asks, if one does that the task draws on. */
  function asking(row: TaskRow): Pick<Explanation, 'budget'> {
    const budget = askingAbove(row)
    return budget === undefined ? {} : { budget }
  }

  function requeued(row: TaskRow): Pick<Explanation, 'requeued'> {
    const byReason: Partial<Record<RequeueReason, number>> = {}
    let preempted = 0
    let last: Requeues['last'] | undefined
    let decided: Requeues['decided']
    const all = requeues.all(row.id)
    for (const { at, data } of all) {
      const { reason, leaseId, backOff, recovery, restartedBy, error } = JSON.parse(
        data,
      ) as EventData['task.requeued']
      if (recovery !== undefined) decided = { at, recovery }
      // A supervisor decided after the table.
      else if (restartedBy !== undefined) decided = undefined
      byReason[reason] = (byReason[reason] ?? 0) + 1
      const by = reason === 'yielded' && wasPreempted(leaseId)
      if (by) preempted += 1
      last = {
        reason,
        at,
        ...(by ? { preemptedBy: INTERACTIVE } : {}),
        ...(backOff === undefined ? {} : { backOff }),
        ...(recovery === undefined ? {} : { recovery }),
        ...(error === undefined ? {} : { failure: errorSummary(error) }),
      }
    }
    if (last === undefined) return {}
    const before = decided === undefined || last.recovery !== undefined ? {} : { decided }
    return { requeued: { times: all.length, byReason, preempted, last, ...before } }
  }

  /** Only interactive tasks ask others to yield. */
  function wasPreempted(leaseId: string): boolean {
    const lease = load.lease(ids.leaseNumber(leaseId) ?? 0)
    return lease !== undefined && lease.yieldAskedAt !== null
  }

  function childrenOf(row: TaskRow): OpenChildren | undefined {
    const open = load.openChildren(row.id)
    if (open.length === 0) return undefined
    const queue = view()
    const pipeline = load.pipeline(row.id)
    const first = open.slice(0, MAX_CHILDREN)
    const summaryOf = (child: TaskRow) =>
      child.waitReason === 'signal' ? childWaitText(waitsOfChild(child), pipeline) : undefined
    db.ahead(first, ({ task }) => summaryOf(load.task(task) as TaskRow))
    return {
      open: open.length,
      first: first.map(({ key, task }) => {
        const child = load.task(task) as TaskRow
        const waitsFor = childWaitsFor(queue, child)
        const summary = summaryOf(child)
        return {
          key,
          taskId: child.explicitId ?? ids.task(task),
          type: queue.streamOf(child)?.type ?? '',
          state: child.state,
          ...(waitsFor === undefined ? {} : { waitsFor }),
          ...(summary === undefined ? {} : { summary }),
        }
      }),
    }
  }

  /** Enough of them to see whether they are few; a supervisor is known by its own wait. */
  function waitsOfChild({ id }: TaskRow): readonly OpenWait[] {
    const own = load.supervisorWait(id)
    return (own === undefined ? load.firstWaits(id, MAX_OF_CHILD + 1) : [own]).map(openWaitOf)
  }
}

const INTERACTIVE: Lane = 'interactive'

/** A job records its first stage before it does anything else: a few tries that died are all that can come before. */
const MAX_SEQ_OF_JOB = 100

function recordedIn(data: string | undefined) {
  if (data === undefined) return undefined
  try {
    return marketStageIn((JSON.parse(data) as EventData['step.completed']).key)
  } catch {
    // Somebody edited it: the reason why the task is parked says so.
    return undefined
  }
}

function childWaitsFor(queue: QueueView, child: TaskRow): QueueReason | WaitReason | undefined {
  if (child.state === 'waiting') return child.waitReason ?? undefined
  if (child.state !== 'queued') return undefined
  const stream = queue.streamOf(child)
  if (child.dueAt !== null || stream === undefined) return 'delay'
  return queue.obstacle(stream, child)?.waitsFor ?? 'slot'
}
