import type { Lane } from '@ku0/agent-runtime-core'
import type { CancelFact, Pass, ProcessLife, Run } from './measurements.ts'

/**
 * From the later of two moments, the call of `submit` and the moment since when some slot stood free, to the handler's first
 * line; in ms. Only first attempts of tasks without a model, which no quota may hold back, and only where handlers noted
 * their passes. A slot is free from the moment a handler was left, so settling is part of it.
 */
export function schedulerLatencies(run: Run): readonly number[] {
  const submitted = new Map(run.submissions.map(({ taskId, at }) => [taskId, at]))
  const models = new Map(run.tasks.map(({ taskId, model }) => [taskId, model]))
  const slots = run.lives.map((life) => freeSlots(life, run.passes))
  return run.passes
    .filter(({ token, taskId }) => token === 1 && (models.get(taskId) ?? null) === null)
    .flatMap((pass) => {
      const called = submitted.get(pass.taskId)
      const free = Math.min(...slots.map((slot) => slot.freeSince(pass)))
      return called === undefined || !Number.isFinite(free)
        ? []
        : [Math.max(0, pass.enteredAt - Math.max(called, free))]
    })
}

/** From the call of `submit` to the handler's first line, of first passes; in ms. */
export function pickupLatencies(run: Run): readonly number[] {
  const submitted = new Map(run.submissions.map(({ taskId, at }) => [taskId, at]))
  return run.passes.flatMap(({ taskId, token, enteredAt }) => {
    const called = submitted.get(taskId)
    return called === undefined || token !== 1 ? [] : [enteredAt - called]
  })
}

/** From the call of `submit` to its answer, in ms. */
export function submitLatencies(run: Run): readonly number[] {
  return run.submissions.map(({ at, answeredAt }) => answeredAt - at)
}

/** From the commit that queued a task, or queued it again, to the one that started it, by the store's clock; in ms. */
export function queueWaits(run: Run, lane?: Lane): readonly number[] {
  return run.tasks
    .filter((task) => lane === undefined || task.lane === lane)
    .flatMap((task) => {
      if (task.events.length === 0) return task.startedAt === null ? [] : [task.startedAt - task.submittedAt]
      let queuedAt = task.submittedAt
      return task.events.flatMap(({ type, at }) => {
        if (type === 'task.queued' || type === 'task.requeued' || type === 'task.resumed') queuedAt = at
        return type === 'task.started' ? [at - queuedAt] : []
      })
    })
}

/** From the moment a wait was due to the start of the next pass, by the store's clock; in ms. Only waits that have a time. */
export function wakes(run: Run, group?: string): readonly number[] {
  const tasks = run.tasks.filter((task) => group === undefined || task.group === group)
  return tasks.flatMap(({ events }) => {
    let due: number | undefined
    return events.flatMap(({ type, at, data }) => {
      if (type === 'task.waiting') due = earliest(data['dueAt'])
      if (type !== 'task.started' || due === undefined) return []
      const late = at - due
      due = undefined
      return [late]
    })
  })
}

function earliest(dueAt: unknown): number | undefined {
  return dueAt === undefined ? undefined : Math.min(...Object.values(dueAt as Record<string, number>))
}

/** One task that was in flight when its process was killed. */
export interface Resume {
  readonly taskId: string
  /** From the start of the next process of that name to the commit of the task's first new step; null when none came. */
  readonly ms: number | null
}

/**
 * Every task in flight at a kill whose process was started again: from that start, the process's own loading included, to
 * the commit of the first step (or end) that the task had not recorded before. Source: `docs/semantics.md 4.10, 6.5`.
 */
export function resumes(run: Run): readonly Resume[] {
  const passes = new Map(run.passes.map((pass) => [`${pass.taskId} ${pass.token}`, pass]))
  return restarts(run).flatMap(({ killed, next, until }) =>
    run.tasks.flatMap((task): Resume[] => {
      const requeued = task.events.find(
        ({ type, at, data }) =>
          type === 'task.requeued' && isCrash(data['reason']) && at >= killed.endedAt && at < until,
      )
      const started = task.events.findLast(
        ({ type, seq }) => type === 'task.started' && seq < (requeued?.seq ?? 0),
      )
      if (requeued === undefined || started === undefined || started.at > killed.endedAt) return []
      const pass = passes.get(`${task.taskId} ${String(started.data['fencingToken'])}`)
      if (pass !== undefined && (pass.process !== killed.process || pass.life !== killed.life)) return []
      const first = task.events.find(
        ({ type, seq, at }) =>
          seq > requeued.seq && at < until && (type === 'step.completed' || type === 'task.completed'),
      )
      // A process that was killed again within the second had no time to show it.
      if (first === undefined && until - next.spawnedAt < 1000) return []
      return [{ taskId: task.taskId, ms: first === undefined ? null : first.at - next.spawnedAt }]
    }),
  )
}

/** From the end of a killed process to the next start of each of its tasks, by another process or its own next life; in ms. */
export function takeovers(run: Run): readonly number[] {
  const killed = run.lives.filter((life) => life.exitSignal === 'SIGKILL')
  return killed.flatMap(({ endedAt }) =>
    run.tasks.flatMap((task) => {
      const requeued = task.events.find(
        ({ type, at, data }) =>
          type === 'task.requeued' && data['reason'] === 'owner_dead' && at >= (endedAt ?? Infinity),
      )
      const started = task.events.find(
        ({ type, seq }) => type === 'task.started' && seq > (requeued?.seq ?? Infinity),
      )
      return started === undefined || endedAt === null ? [] : [started.at - endedAt]
    }),
  )
}

/** From the call of `cancel` to its acknowledgement; in ms. */
export function cancelAcknowledgements(run: Run): readonly number[] {
  return run.cancels.map(({ at, acknowledgedAt }) => acknowledgedAt - at)
}

/** From the call of `cancel` to the abort of the handler's signal, of tasks that were running; in ms. */
export function cancelSignals(run: Run): readonly number[] {
  return run.cancels.flatMap(({ at, signaledAt }) => (signaledAt === null ? [] : [signaledAt - at]))
}

/** From the call of `cancel` until no process of the task's tool was left; a tool that is still there counts until the end. */
export function cancelDisappearances(run: Run): readonly number[] {
  return run.cancels
    .filter(({ toolProcesses }) => toolProcesses > 0)
    .map(({ at, goneAt }: CancelFact) => (goneAt ?? run.finishedAt) - at)
}

/** From SIGTERM to the end of the process, in ms. */
export function drains(run: Run, process?: string): readonly number[] {
  return run.lives.flatMap((life) => {
    const { terminatedAt, endedAt } = life
    const asked = process === undefined || life.process === process
    return asked && terminatedAt !== null && endedAt !== null ? [endedAt - terminatedAt] : []
  })
}

interface Restart {
  readonly killed: ProcessLife & { readonly endedAt: number }
  readonly next: ProcessLife
  /** When the next life ended in turn. */
  readonly until: number
}

function restarts(run: Run): readonly Restart[] {
  return run.lives.flatMap((life) => {
    const { endedAt } = life
    const next = run.lives.find(
      ({ process, life: number }) => process === life.process && number === life.life + 1,
    )
    if (life.exitSignal !== 'SIGKILL' || endedAt === null || next === undefined) return []
    const until = next.exitSignal === 'SIGKILL' ? (next.endedAt ?? Infinity) : Infinity
    return [{ killed: { ...life, endedAt }, next, until }]
  })
}

function isCrash(reason: unknown): boolean {
  return reason === 'owner_dead' || reason === 'expired'
}

/** Answers since when a process had a slot free, just before a pass of any process began. */
function freeSlots(life: ProcessLife, passes: readonly Pass[]): { freeSince(pass: Pass): number } {
  const mine = passes.filter(({ process, life: number }) => process === life.process && number === life.life)
  const changes = mine
    .flatMap((pass) => [
      { at: pass.enteredAt, by: 1 },
      ...(pass.leftAt === null ? [] : [{ at: pass.leftAt, by: -1 }]),
    ])
    .toSorted((a, b) => a.at - b.at || a.by - b.by)
  // Since when a slot was free, after each change; Infinity while all are taken.
  const times: number[] = []
  const since: number[] = []
  let inFlight = 0
  let free = life.capacity === 0 ? Infinity : (life.workersStartedAt ?? Infinity)
  for (const { at, by } of changes) {
    inFlight += by
    if (inFlight >= life.capacity) free = Infinity
    else if (free === Infinity) free = at
    times.push(at)
    since.push(free)
  }
  const begin = life.capacity === 0 ? Infinity : (life.workersStartedAt ?? Infinity)
  return {
    freeSince({ enteredAt }) {
      const place = lowerBound(times, enteredAt) - 1
      if (enteredAt < begin || enteredAt > (life.endedAt ?? Infinity)) return Infinity
      return place < 0 ? begin : (since[place] ?? Infinity)
    },
  }
}

/** The first place whose time is not before `at`. */
function lowerBound(times: readonly number[], at: number): number {
  let low = 0
  let high = times.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((times[middle] as number) < at) low = middle + 1
    else high = middle
  }
  return low
}
