import {
  type Claim,
  describeError,
  type Divergence,
  type ErrorRecord,
  type ExecutionConfig,
  type ExecutionStore,
  type HandlerEnd,
  RuntimeError,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import { Warden } from '../durable/exec/warden.ts'
import { Attempt, type AttemptObserver } from '../execution/attempt.ts'
import { Deadlines } from '../lease/deadlines.ts'
import type { Parts } from '../execution/parts.ts'
import type { HistoryEnd, ReplayReport, ReplayVerdict } from '../api/replay.ts'
import type { ReplayTrail, ReplayWatch } from '../durable/pass/replay-watch.ts'
import { readTerms } from '../durable/child/submission-data.ts'
import { runReplay } from '../execution/worker.ts'
import { systemEnvironment } from '../system.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { Past } from './past.ts'
import { LeaseObservers } from '../lease/observers.ts'

/** What a task is gone through again with. */
export interface VerifyCase {
  readonly taskId: string
  readonly past: Past
  /** Undefined: its type is not known here. */
  readonly definition: TaskDefinition | undefined
  readonly config: ExecutionConfig
  readonly values: ValueCodec
  /** Where the events of a pipeline are that a stage has received: its history says only which. Without it they cannot be read. */
  readonly store?: Pick<ExecutionStore, 'read'> | undefined
  /** How long the handler may wait for something of its own, in ms of real time. */
  readonly timeoutMs: number
  readonly watch?: {
    /** The handler has returned `output`. */
    returned(output: string): void
    /** What the handler does from now on is no part of the replay. */
    over(): void
  }
}

/**
 * Goes through a handler once with the history alone, along the same way as a worker does, and does nothing on its behalf: no
 * function of a step is called, no command runs, nothing is written. Source: `docs/semantics.md 6.3`.
 */
export function verify(it: VerifyCase): Promise<ReplayReport> {
  const { definition, past, taskId } = it
  if (definition === undefined) {
    const { type, history } = past
    const answered = { steps: 0, waits: 0, failures: 0 }
    const unused = history.steps.size + history.waits.size + history.open.size
    return Promise.resolve({ taskId, type, verdict: 'unknown_type', diverged: undefined, answered, unused })
  }
  return new Verification(it, definition).run()
}

/** One replay: it is told where the handler comes to, and says when there is nothing more to come. */
class Verification implements ReplayWatch {
  readonly #case: VerifyCase
  readonly #definition: TaskDefinition
  readonly #deadlines = new Deadlines(systemEnvironment.clock, systemEnvironment.timers)
  readonly #report = Promise.withResolvers<ReplayReport>()
  readonly #answered = { steps: 0, waits: 0, failures: 0 }
  readonly #reached: {
    readonly end: HistoryEnd
    readonly trail: ReplayTrail
    readonly signal: string | undefined
  }[] = []
  readonly #attempt: Attempt
  /** Rises with every call of the handler. */
  #activity = 0
  #seenActivity = 0
  #isLooking = false
  #isOver = false
  #hasErred = false

  constructor(it: VerifyCase, definition: TaskDefinition) {
    this.#case = it
    this.#definition = definition
    this.#attempt = new Attempt(this.#parts(), claimOf(it), observer, this)
  }

  run(): Promise<ReplayReport> {
    this.#deadlines.after(this.#case.timeoutMs, () => this.#giveUp())
    runReplay(this.#attempt, this.#definition, this.#case.past.history)
    return this.#report.promise
  }

  failureOf(key: string): ErrorRecord | undefined {
    return this.#case.past.history.failures.get(key)
  }

  answered(as: 'step' | 'wait' | 'failure'): void {
    this.#activity += 1
    this.#answered[`${as}s`] += 1
  }

  erred(): void {
    this.#hasErred = true
  }

  reached(end: HistoryEnd, trail: ReplayTrail, signal?: string): void {
    this.#activity += 1
    this.#reached.push({ end, trail, signal })
    if (this.#isLooking || this.#isOver) return
    this.#isLooking = true
    this.#lookIn(0)
  }

  diverged(divergence: Divergence): void {
    this.#conclude('diverged', { diverged: divergence })
  }

  ended(how: HandlerEnd, trail: ReplayTrail | undefined): void {
    const diverged = trail?.divergence(false)
    const unused = trail?.unused ?? this.#unusedAtFirst
    switch (how.as) {
      case 'returned':
        this.#case.watch?.returned(how.output)
        return this.#conclude(diverged === undefined ? 'agreed' : 'diverged', {
          diverged,
          unused,
          end: { call: 'return' },
        })
      case 'threw': {
        const isExpected = this.#case.past.threw || this.#answered.failures > 0 || this.#hasErred
        const { error } = how
        const more = { unused, end: { call: 'throw' as const }, error }
        if (!isExpected) return this.#conclude('threw', more)
        return this.#conclude(diverged === undefined ? 'agreed' : 'diverged', { ...more, diverged })
      }
      // Only a store that answers nothing interrupts a pass, and the past of this one was read before.
      case 'interrupted':
        return this.#conclude('threw', { unused, end: { call: 'throw' }, error: how.error })
      case 'stopped': {
        const { kind, error } = how
        const verdict =
          kind === 'schema_mismatch' ? 'invalid_input' : this.#case.past.threw ? 'agreed' : 'threw'
        return this.#conclude(verdict, {
          unused,
          error,
          ...(trail === undefined ? {} : { end: { call: 'return' } }),
        })
      }
    }
  }

  #lookIn(delayMs: number): void {
    this.#deadlines.after(delayMs, () => this.#look())
  }

  /** Whether the handler stands still. What runs side by side may be about to call what the history holds. */
  #look(): void {
    if (this.#isOver) return
    if (this.#activity !== this.#seenActivity) {
      this.#seenActivity = this.#activity
      return this.#lookIn(0)
    }
    const diverged = this.#divergence(true)
    if (diverged !== undefined) return this.#conclude('diverged', { diverged })
    if (this.#mayGoOn()) return this.#lookIn(LOOK_MS)
    this.#agree()
  }

  #mayGoOn(): boolean {
    if (this.#reached.some(({ end }) => end.call === 'command')) return false
    if (this.#divergence(false) !== undefined) return true
    return (this.#reached[0]?.trail.pending ?? 0) > 0 && this.#case.past.history.lastFailure === undefined
  }

  #giveUp(): void {
    if (this.#isOver) return
    if (this.#reached.length === 0) return this.#conclude('unsettled', {})
    const diverged = this.#divergence(false)
    if (diverged !== undefined) return this.#conclude('diverged', { diverged })
    this.#agree()
  }

  #agree(): void {
    const diverged = this.#signalLost()
    if (diverged !== undefined) return this.#conclude('diverged', { diverged })
    this.#conclude('agreed', this.#whereItEnds())
  }

  /**
   * A branch waits for a signal that the store would give to another wait of the race, which began before and which the code does not
   * ask for any more: nobody would hear of it.
   */
  #signalLost(): Divergence | undefined {
    const { open, lastFailure } = this.#case.past.history
    if (lastFailure !== undefined) return undefined
    const asked = new Set(this.#reached.map(({ end }) => end.key))
    for (const { end, signal } of this.#reached) {
      if (signal === undefined || open.has(end.key)) continue
      for (const { key, kind, name, position } of open.values())
        if (kind === 'signal' && name === signal && position === end.position && !asked.has(key))
          return { kind: 'unexpected_step', key: end.key, position, expected: key, actual: end.key }
    }
    return undefined
  }

  #divergence(certainly: boolean): Divergence | undefined {
    for (const { trail } of this.#reached) {
      const divergence = trail.divergence(certainly)
      if (divergence !== undefined) return divergence
    }
    return undefined
  }

  #whereItEnds(): Pick<ReplayReport, 'end'> {
    const [first] = this.#reached
    return first === undefined ? {} : { end: first.end }
  }

  get #unusedAtFirst(): number {
    const { steps, waits, open } = this.#case.past.history
    return steps.size + waits.size + open.size
  }

  #conclude(verdict: ReplayVerdict, found: Partial<ReplayReport>): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#case.watch?.over()
    this.#deadlines.close()
    const { taskId, past } = this.#case
    const unused = this.#reached[0]?.trail.unused ?? Math.max(0, this.#unusedAtFirst - this.#uses)
    this.#report.resolve({
      taskId,
      type: past.type,
      verdict,
      unused,
      answered: { ...this.#answered },
      ...found,
      diverged: found.diverged,
    })
    // The handler hears of it as of the end of any pass: by its signal.
    this.#attempt.suspend()
    this.#deadlines.close()
  }

  get #uses(): number {
    return this.#answered.steps + this.#answered.waits
  }

  #parts(): Parts {
    return {
      store: readingEvents(this.#case.store),
      config: this.#case.config,
      values: this.#case.values,
      environment: systemEnvironment,
      deadlines: this.#deadlines,
      warden: new Warden(),
      rateLimited: undefined,
      observers: new LeaseObservers(() => {}),
      log() {},
      announce() {},
      prepareChild: () => {
        throw new RuntimeError('internal', 'a replay spawns nothing')
      },
    }
  }
}

function readingEvents(store: Pick<ExecutionStore, 'read'> | undefined): ExecutionStore {
  if (store === undefined) return nothing
  return {
    ...nothing,
    read: (query) =>
      query.kind === 'pipeline' || query.kind === 'pipelineEvents' ? store.read(query) : nothing.read(query),
  }
}

function claimOf({ taskId, past }: VerifyCase): Claim {
  const { submission = '{}', attempt, fencingToken, history, type } = past
  return {
    taskId,
    type,
    lane: readLane(submission),
    leaseId: 'replay',
    workerId: 'replay',
    sequence: 0,
    attempt,
    crashes: 0,
    fencingToken,
    dispatch: 0,
    acquiredAt: 0,
    expiresAt: 0,
    steps: history.steps.size,
    replays: true,
    submission,
  }
}

function readLane(submission: string): Claim['lane'] {
  try {
    return readTerms(submission).lane
  } catch (error) {
    const cause = describeError(error)
    throw new RuntimeError(
      'invalid_argument',
      `the submission in the history cannot be read: ${cause.message}`,
      {
        cause,
      },
    )
  }
}

/** Nobody waits for the slot of a replay. */
const observer: AttemptObserver = { slotFree() {}, gone() {}, halted() {} }

/** The store of a replay. What came here would be a mistake in the runtime. */
const nothing: ExecutionStore = {
  info: {
    kind: 'memory',
    location: 'none',
    storeId: 'replay',
    processId: 'replay',
    durability: 'memory',
    schemaVersion: 0,
    versions: {},
  },
  write: () => Promise.reject(new Error('a replay writes nothing')),
  read: () => Promise.reject(new Error('a replay reads nothing')),
  demand() {},
  interest() {},
  listen: () => ({ [Symbol.dispose]() {} }),
  mayHaveSlept: () => false,
  timesSlept: () => 0,
  close: () => Promise.resolve(),
}

/** How often it is looked whether something that runs side by side has come. */
const LOOK_MS = 10
