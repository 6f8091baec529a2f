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
import { pastOf } from './past.ts'
import { readEvents } from './replay-task.ts'
import { verify } from './verification.ts'

/** What strict mode needs of its worker or runtime. */
export interface StrictModeDeps {
  readonly store: Pick<ExecutionStore, 'read'>
  readonly config: ExecutionConfig
  readonly values: ValueCodec
  readonly definitions: ReadonlyMap<string, TaskDefinition>
  readonly log: LogLine
}

/**
 * Strict mode: when a pass ends, its handler runs once more with what was recorded, and nothing new is done on its behalf. A handler
 * that takes another path then would be parked after a crash or a wait: it is failed at once, while the mistake is fresh. Source:
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

  async returned(claim: Claim): Promise<RuntimeError | undefined> {
    const report = await this.#replay(claim)
    if (report === undefined) return undefined
    if (report.verdict === 'diverged' || report.verdict === 'threw') return notDeterministic(report)
    return undefined
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
    const error = await this.returned(claim)
    if (error === undefined) return
    const { taskId, type } = claim
    if (this.#found.size < MOST) this.#found.set(taskId, error)
    this.#deps.log('error', 'strict mode: the task waits, and fails when it goes on', {
      taskId,
      type,
      error: describeError(error),
    })
  }

  /** Undefined where there is nothing to replay. What keeps a task from being replayed is no fault of its handler. */
  async #replay({ taskId, type }: Claim): Promise<ReplayReport | undefined> {
    const { store, config, values, definitions, log } = this.#deps
    const definition = definitions.get(type)
    if (definition === undefined || type.startsWith(RESERVED)) return undefined
    try {
      const past = pastOf(await readEvents(store, taskId))
      if (isEmpty(past.history)) return undefined
      this.#say()
      return await verify({ taskId, past, definition, config, values, timeoutMs: TIMEOUT_MS })
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
      'strict mode is on: handlers run twice, the second time with recorded results; NODE_ENV=production or { strict: false } turns it off',
    )
  }
}

function isEmpty({ steps, waits, open, children }: History): boolean {
  return steps.size + waits.size + open.size + children.size === 0
}

function notDeterministic({ taskId, type, verdict, diverged, error }: ReplayReport): RuntimeError {
  const what =
    diverged === undefined
      ? `it threw ${error?.name ?? 'an error'}: ${error?.message ?? ''}`
      : describeDivergence(diverged)
  return new RuntimeError(
    'not_deterministic',
    `task ${taskId} ('${type}') takes another path when it is replayed: ${what}. What decides its calls has changed in between, such as the time, chance, or a variable outside of the handler: read it in a step`,
    { details: { taskId, type, verdict, ...(diverged === undefined ? {} : { divergence: diverged }) } },
  )
}

/** How long a replay may wait for something of the handler's own, ms of real time: the slot of its task is kept meanwhile. */
const TIMEOUT_MS = 1_000
const MOST = 1_000
