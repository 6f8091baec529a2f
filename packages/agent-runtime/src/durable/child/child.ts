import {
  assertOptions,
  type ChildEnd,
  childName,
  type ChildRecord,
  type ErrorRecord,
  invalid,
  patienceKey,
  type Rules,
  type RuntimeError,
  show,
  TaskCanceled,
  type WaitRecord,
} from '@ku0/agent-runtime-core'
import { endOfWait } from '../wait/ended-waits.ts'
import type { ChildTask, ChildWaitOptions } from '../../api/task-context.ts'
import { TaskFailed, TimeoutError } from '../../api/errors.ts'
import { Answer } from '../pass/answer.ts'
import { assertOutsideSteps } from '../step/inside-step.ts'
import type { Pass } from '../pass/pass.ts'
import type { Scope } from '../pass/scope.ts'
import { isWait } from '../wait/wait-calls.ts'

/**
 * A child, as its parent's handler sees it. However often its result is requested, the task has one wait for
 * it. A time limit of a request is a timer beside that wait, and whichever of the two is first in the history
 * answers, in every pass. Source: `docs/semantics.md 5.5`.
 */
export class Child implements ChildTask {
  readonly taskId: string
  readonly #pass: Pass
  readonly #scope: Scope
  readonly #key: string
  /** The position of its wait, once it was requested. */
  #position: number | undefined
  /** Number of requests with a time limit so far. */
  #limits = 0
  #end: WaitRecord | undefined
  readonly #waiting = new Set<Waiting>()

  /** `position`: the position of the wait for the child, if it is known. */
  constructor(pass: Pass, scope: Scope, { key, taskId }: ChildRecord, position?: number) {
    this.#pass = pass
    this.#position = position
    this.#scope = scope
    this.#key = key
    this.taskId = taskId
  }

  result(options: ChildWaitOptions = {}): Promise<unknown> {
    return this.answer(new Answer(this.#scope, 'result of child', this.#key), options)
  }

  /** The same for a call that already has its answer object. */
  answer(answer: Answer, options: ChildWaitOptions = {}): Promise<unknown> {
    try {
      if (this.#scope.closedBy !== undefined) throw this.#scope.closedBy
      assertOutsideSteps(this.#pass, `the result of child '${this.#key}'`)
      this.#wait(answer, readTimeout(this.#key, options))
    } catch (error) {
      answer.reject(error)
    }
    return answer.promise
  }

  cancel(reason?: string): Promise<boolean> {
    const answer = new Answer<boolean>(this.#scope, 'cancel of child', this.#key)
    return answer.follow(this.#cancel(reason))
  }

  async #cancel(reason: unknown): Promise<boolean> {
    if (this.#pass.endsHere({ call: 'child', key: this.#key })) return new Promise<never>(() => undefined)
    this.#pass.wentLive()
    const { closedBy } = this.#scope
    if (closedBy !== undefined) throw closedBy
    if (reason !== undefined && typeof reason !== 'string')
      throw invalid(`the reason to cancel child '${this.#key}' must be a string; given ${show(reason)}`)
    const { store } = this.#pass.attempt.parts
    const { taskId } = this
    this.#pass.gate.begin()
    try {
      const why = reason === undefined ? {} : { reason }
      const { canceled } = await store.write({ kind: 'cancel', taskId, ...why })
      return canceled
    } finally {
      this.#pass.gate.end()
    }
  }

  #wait(answer: Answer, timeoutMs: number | undefined): void {
    this.#position ??= this.#pass.placeIn(this.#scope)
    const limit =
      timeoutMs === undefined ? undefined : { key: patienceKey(this.#key, ++this.#limits), timeoutMs }
    const waiting: Waiting = { answer, limit }
    const lapsed = limit === undefined ? undefined : this.#pass.waitMemo(limit.key)
    this.#end ??= this.#pass.waitMemo(childName(this.#key))
    if (this.#end !== undefined && !(lapsed !== undefined && lapsed.seq < this.#end.seq)) {
      this.#pass.attempt.replay?.answered('wait')
      return this.#tell(waiting, this.#end)
    }
    if (lapsed !== undefined) return this.#tellLate(waiting, lapsed)
    if (this.#pass.endsHere({ call: 'child', key: this.#key, position: this.#position })) return
    if (this.#waiting.size === 0) this.#addEnd(this.#position)
    this.#waiting.add(waiting)
    if (limit !== undefined) this.#addLimit(waiting, limit, this.#position)
  }

  #addEnd(position: number): void {
    const name = childName(this.#key)
    this.#pass.waits.add({
      request: { key: name, position, kind: 'child', name },
      scope: this.#scope,
      over: (record) => {
        this.#end = record
        this.#pass.rooms.tryAgain()
        for (const waiting of this.#take()) this.#tell(waiting, record)
      },
      refuse: (reason) => {
        for (const { answer } of this.#take()) answer.reject(reason)
      },
    })
  }

  #addLimit(waiting: Waiting, { key, timeoutMs }: Limit, position: number): void {
    const leave = () => {
      const isWaiting = this.#waiting.delete(waiting)
      if (isWaiting && this.#waiting.size === 0) this.#pass.waits.forget(childName(this.#key))
      return isWaiting
    }
    try {
      this.#pass.waits.add({
        request: { key, position, kind: 'timer', delayMs: timeoutMs },
        scope: this.#scope,
        over: (record) => {
          if (leave()) this.#tellLate(waiting, record)
        },
        refuse: (reason) => {
          if (leave()) waiting.answer.reject(reason)
        },
      })
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Takes all waiting requests out of the list. */
  #take(): readonly Waiting[] {
    const all = [...this.#waiting]
    this.#waiting.clear()
    for (const { limit } of all) if (limit !== undefined) this.#pass.waits.forget(limit.key)
    return all
  }

  #tell({ answer }: Waiting, record: WaitRecord): void {
    this.#scope.answered(record.seq)
    this.#pass.answer(answer, record, () => this.#outputIn(record))
  }

  /** Throws the child's error. */
  #outputIn({ value = '' }: WaitRecord): unknown {
    const end = this.#pass.attempt.parts.values.decode(value) as ChildEnd
    switch (end.state) {
      case 'completed':
        return end.output
      case 'failed':
        throw settled(new TaskFailed(this.taskId, end.kind, end.error as ErrorRecord))
      case 'canceled':
        throw new TaskCanceled(this.taskId, end.reason)
    }
  }

  #tellLate({ answer, limit }: Waiting, { seq }: WaitRecord): void {
    this.#scope.answered(seq)
    this.#pass.attempt.replay?.erred()
    const error = new TimeoutError(`child '${this.#key}'`, limit?.timeoutMs ?? 0)
    answer.reject(limit === undefined ? error : endOfWait(limit.key, error))
  }
}

interface Limit {
  readonly key: string
  readonly timeoutMs: number
}

/** A request for the result. */
interface Waiting {
  readonly answer: Answer
  readonly limit: Limit | undefined
}

/** The child's end is stored: another attempt of the parent would get the same answer. */
export function settled<Failure extends RuntimeError>(error: Failure): Failure {
  return Object.defineProperty(error, 'retryable', { value: false })
}

function readTimeout(key: string, options: ChildWaitOptions): number | undefined {
  assertOptions(`result of child '${key}'`, options, waitRules)
  return options.timeoutMs
}

const waitRules: Rules<ChildWaitOptions> = { timeoutMs: isWait }
