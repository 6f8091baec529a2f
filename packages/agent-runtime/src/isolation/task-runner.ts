import {
  describeError,
  type ExecutionConfig,
  isReadable,
  show,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import type { RateLimitRule } from '../api/rate-limit-rule.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import { Warden } from '../durable/exec/warden.ts'
import { Attempt, type AttemptObserver } from '../execution/attempt.ts'
import type { Parts } from '../execution/parts.ts'
import type { PassCheck } from '../execution/pass-check.ts'
import { runClaim } from '../execution/worker.ts'
import { Deadlines } from '../lease/deadlines.ts'
import { LeaseObservers } from '../lease/observers.ts'
import { systemEnvironment } from '../system.ts'
import { definitionIn } from '../terms/task-module.ts'
import { valuesOf } from '../terms/value-codec.ts'
import { broughtIn } from './brought.ts'
import { becomeRunner } from './inside-runner.ts'
import { RunnerStore } from './runner-store.ts'
import type { FromRunner, RunOrder, StopWord, ToRunner } from './words.ts'

/** What strict mode needs. */
interface StrictModeParts extends Pick<Parts, 'store' | 'config' | 'values' | 'log'> {
  readonly definitions: ReadonlyMap<string, TaskDefinition>
}

interface RunningTask {
  readonly store: RunnerStore
  /** Undefined until the module is loaded. */
  attempt: Attempt | undefined
  /** What was heard before that. */
  readonly early: Exclude<ToRunner, RunOrder>[]
}

/**
 * Runs the tasks of one module, one at a time: the same attempts as in a worker's own event loop, with a store that is asked by
 * messages.
 */
export class TaskRunner {
  readonly #send: (word: FromRunner) => void
  readonly #strictMode: (deps: StrictModeParts) => PassCheck
  readonly #deadlines = new Deadlines(systemEnvironment.clock, systemEnvironment.timers)
  readonly #warden = new Warden()
  #running: RunningTask | undefined

  constructor(send: (word: FromRunner) => void, strictMode: (deps: StrictModeParts) => PassCheck) {
    this.#send = send
    this.#strictMode = strictMode
  }

  heard(word: ToRunner): void {
    if (word.kind === 'run') return void this.#run(word)
    if (word.kind === 'ping') return this.#send({ kind: 'pong' })
    const running = this.#running
    if (running === undefined) return
    if (word.kind === 'answer') return running.store.answered(word.id, word.outcome, word.error)
    if (running.attempt === undefined) running.early.push(word)
    else act(running.attempt, word)
  }

  async #run(order: RunOrder): Promise<void> {
    this.#send({ kind: 'taken' })
    const store = new RunnerStore(order.info, this.#send, systemEnvironment.clock)
    const running: RunningTask = { store, attempt: undefined, early: [] }
    this.#running = running
    try {
      becomeRunner(order.module)
      const module = (await import(order.module)) as Readonly<Record<string, unknown>>
      const definition = definitionIn(module, order.module, order.claim.type)
      const { rateLimited, ...options } = broughtIn(module, order.module, order.brought)
      this.#send({ kind: 'loaded' })
      const parts = this.#partsOf(order, store, definition, valuesOf(options), rateLimited)
      const attempt = new Attempt(parts, order.claim, this.#observer(running))
      attempt.yieldAsked = order.claim.yields === true
      running.attempt = attempt
      for (const word of running.early.splice(0)) act(attempt, word)
      runClaim(attempt, definition)
    } catch (error) {
      store.close()
      this.#send({ kind: 'refused', error: describeError(error) })
    }
  }

  #observer(running: { readonly store: RunnerStore }): AttemptObserver {
    return {
      slotFree: () => this.#send({ kind: 'slotFree' }),
      halted: (_, { kind, afterMs }) => this.#send({ kind: 'halted', why: kind, afterMs }),
      gone: () => {
        running.store.close()
        if (this.#running === running) this.#running = undefined
        this.#send({ kind: 'gone' })
      },
    }
  }

  #partsOf(
    { config, isStrict }: { readonly config: ExecutionConfig; readonly isStrict: boolean },
    store: RunnerStore,
    definition: TaskDefinition,
    values: ValueCodec,
    rateLimited: RateLimitRule | undefined,
  ): Parts {
    const log: LogLine = (level, message, fields, author) =>
      this.#send({ kind: 'log', level, message, fields: plain(fields), author })
    const definitions = new Map([[definition.type, definition]])
    return {
      store,
      config,
      values,
      environment: systemEnvironment,
      deadlines: this.#deadlines,
      warden: this.#warden,
      observers: new LeaseObservers(log),
      rateLimited,
      strict: isStrict ? this.#strictMode({ store, config, values, definitions, log }) : undefined,
      guard: {
        entered: () => this.#send({ kind: 'entered' }),
        stopping: (why) => this.#send({ kind: 'stopping', why }),
        charged: (usage) => this.#send({ kind: 'charged', usage }),
        heartbeat: (report) => store.heartbeat(report),
      },
      prepareChild: (item, place, parentType) => store.prepareChild(values, item, place, parentType),
      announce: (type, taskId, seq, data) => this.#send({ kind: 'announce', type, taskId, seq, data }),
      log,
    }
  }
}

function act(attempt: Attempt, word: Exclude<ToRunner, RunOrder>): void {
  if (word.kind === 'yield') attempt.yieldAsked = true
  else if (word.kind === 'stop') stop(attempt, word)
}

function stop(attempt: Attempt, word: StopWord): void {
  switch (word.how) {
    case 'cancel':
      return attempt.cancel(word.reason)
    case 'lose':
      return attempt.lose()
    case 'fail':
      return attempt.fail(word.reason)
    // The worker has settled the pass: what it does not know is recorded after it.
    case 'timeOut':
      attempt.usage.oweOutside()
      return attempt.timeOut(word.timeoutMs)
    case 'exceed':
      attempt.usage.oweOutside()
      return attempt.exceed(word.message)
    case 'shutDown':
      return attempt.shutDown()
  }
}

/** What a handler logs may be anything. */
function plain(
  fields: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> | undefined {
  if (fields === undefined) return undefined
  try {
    return isReadable(fields) && JSON.stringify(fields) !== undefined ? fields : { fields: show(fields) }
  } catch {
    return { fields: show(fields) }
  }
}
