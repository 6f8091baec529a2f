import {
  type Claim,
  describeDivergence,
  describeError,
  type ExecutionConfig,
  type ExecutionStore,
  RESERVED,
  RuntimeError,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import type { ReplayReport } from '../api/replay.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { History } from '../durable/pass/memos.ts'
import type { PassCheck } from '../execution/pass-check.ts'
import { placeOfDifference } from './difference.ts'
import { pastOf, untilItWaited } from './past.ts'
import { readEvents } from './replay-task.ts'
import { RequestWatch } from './requests.ts'
import { systemEnvironment } from '../system.ts'
import { verify } from './verification.ts'

/** What strict mode needs of its worker or runtime. */
export interface StrictModeDeps {
  readonly store: Pick<ExecutionStore, 'read'>
  readonly config: ExecutionConfig
  readonly values: ValueCodec
  readonly definitions: ReadonlyMap<string, TaskDefinition>
  readonly log: LogLine
}

/** What a replay has shown. */
interface Shown {
  readonly report: ReplayReport
  /** What the handler returned; undefined if it came to no end. */
  readonly output: string | undefined
  /** The first request that it made. */
  readonly request: string | undefined
}

/**
 * Strict mode: when a pass ends, its handler runs once more with what was recorded, and nothing new is done on its behalf. A handler
 * that takes another path then would be parked after a crash or a wait, one that makes a request would make it again, and one that
 * returns something else has not recorded what it comes from: it is failed at once, while the mistake is fresh. Source:
 * `docs/strict-mode.md`.
 */
export class StrictMode implements PassCheck {
  readonly #deps: StrictModeDeps
  /** Tasks that wait, and what their next pass fails with. */
  readonly #found = new Map<string, RuntimeError>()
  #isSaid = false

  constructor(deps: StrictModeDeps) {
    this.#deps = deps
  }

  async returned(claim: Claim, output: string): Promise<RuntimeError | undefined> {
    const shown = await this.#replay(claim)
    if (shown === undefined) return undefined
    return faultOf(shown) ?? this.#otherResult(claim, output, shown)
  }

  suspended(claim: Claim): void {
    void this.#lookAt(claim)
  }

  foundEarlier({ taskId }: Claim): RuntimeError | undefined {
    const error = this.#found.get(taskId)
    this.#found.delete(taskId)
    return error
  }

  async #lookAt(claim: Claim): Promise<void> {
    const shown = await this.#replay(claim, claim.leaseId)
    const error = shown && faultOf(shown)
    if (error === undefined) return
    const { taskId, type } = claim
    if (this.#found.size < MOST) this.#found.set(taskId, error)
    this.#deps.log('error', 'strict mode: the task waits, and fails when it goes on', {
      taskId,
      type,
      error: describeError(error),
    })
  }

  /** A pass that had a snapshot may return what a replay, which has none, cannot know. */
  #otherResult({ checkpoint }: Claim, first: string, { report, output }: Shown): RuntimeError | undefined {
    if (output === undefined || output === first || checkpoint !== undefined) return undefined
    const { decode } = this.#deps.values
    const place = placeOfDifference(decode(first), decode(output))
    const where = place === '' ? '' : `: its result differs at '${place}'`
    return notDeterministic(report, `returns another result when it is replayed${where}`, FROM_OUTSIDE)
  }

  /**
   * Undefined where there is nothing to replay. What keeps a task from being replayed is no fault of its handler. `leaseId`: the lease of
   * the pass, if it waits.
   */
  async #replay({ taskId, type }: Claim, leaseId?: string): Promise<Shown | undefined> {
    const { store, config, values, definitions, log } = this.#deps
    const definition = definitions.get(type)
    if (definition === undefined || type.startsWith(RESERVED)) return undefined
    try {
      const [events] = await Promise.all([readEvents(store, taskId), aMillisecond()])
      const past = pastOf(leaseId === undefined ? events : untilItWaited(events, leaseId))
      if (isEmpty(past.history)) return undefined
      this.#say()
      using requests = new RequestWatch()
      let output: string | undefined
      const watch = { returned: (text: string) => void (output = text), over: () => requests.over() }
      const it = { taskId, past, definition, config, values, store, timeoutMs: TIMEOUT_MS, watch }
      const report = await requests.during(() => verify(it))
      return { report, output, request: requests.first }
    } catch (error) {
      log('debug', 'strict mode could not replay a pass', { taskId, type, error: describeError(error) })
      return undefined
    }
  }

  #say(): void {
    if (this.#isSaid) return
    this.#isSaid = true
    this.#deps.log(
      'info',
      'strict mode checks that handlers replay: each runs a second time with the recorded results, and no step runs twice; it is off with NODE_ENV=production or { strict: false }',
    )
  }
}

/** `Date.now()` says something else after it. */
function aMillisecond(): Promise<void> {
  return new Promise((done) => void systemEnvironment.timers.after(1, done))
}

function isEmpty({ steps, waits, open, children }: History): boolean {
  return steps.size + waits.size + open.size + children.size === 0
}

/** What a replay shows whatever the handler returned. */
function faultOf({ report, request }: Shown): RuntimeError | undefined {
  if (request !== undefined)
    return notDeterministic(
      report,
      `makes a request outside of a step: ${request}`,
      'Each replay makes it again: make it in a step',
    )
  const { verdict, diverged, error } = report
  if (verdict !== 'diverged' && verdict !== 'threw') return undefined
  const what =
    diverged === undefined
      ? `it threw ${error?.name ?? 'an error'}: ${error?.message ?? ''}`
      : describeDivergence(diverged)
  return notDeterministic(
    report,
    `takes another path when it is replayed: ${what}`,
    'What decides its calls has changed in between, such as the time, chance, or a variable outside of the handler: read it in a step, the time and chance with ctx.now, ctx.random and ctx.uuid',
  )
}

function notDeterministic(
  { taskId, type, verdict, diverged }: ReplayReport,
  what: string,
  remedy: string,
): RuntimeError {
  return new RuntimeError('not_deterministic', `task ${taskId} ('${type}') ${what}. ${remedy}`, {
    details: { taskId, type, verdict, ...(diverged === undefined ? {} : { divergence: diverged }) },
  })
}

const FROM_OUTSIDE =
  'It comes from the time, chance, a variable outside of the handler, or the order in which steps side by side ended: read it in a step (the time and chance with ctx.now, ctx.random and ctx.uuid), keep to the order of the calls, or leave it out'
/** How long a replay may wait for something of the handler's own, ms of real time: the slot of its task is kept meanwhile. */
const TIMEOUT_MS = 1_000
const MOST = 1_000
