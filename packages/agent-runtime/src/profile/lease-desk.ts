import {
  assertFields,
  assertOptions,
  encode,
  type ExecutionStore,
  functionRule,
  invalid,
  isName,
  isOneOf,
  lanes,
  type LeaseNotice,
  limitRule,
  nameRule,
  needsAbortController,
  type ProfileTerms,
  RESERVED,
  type Rules,
  show,
  type Submission,
} from '@ku0/agent-runtime-core'
import type { LeakedHandler } from '../api/worker.ts'
import { submitRules } from '../terms/submit-rules.ts'
import { openReceipt } from '../terms/receipts.ts'
import { TaskRejected } from '../api/errors.ts'
import { CallerLease, type CallerLeaseParts } from './caller-lease.ts'
import { profileOf, profileProblems, termsOf } from '../terms/profile-setting.ts'
import type { TaskProfile } from '../api/profiles.ts'
import type { StartTaskOptions, TaskLease } from '../api/leases.ts'

/** What the desk needs of its runtime. */
export interface LeaseDeskParts extends CallerLeaseParts {
  readonly store: ExecutionStore
  readonly trace: () => Readonly<Record<string, string>> | undefined
  /** Throws when no submission is taken. */
  readonly assertTaking: () => void
}

/** What a lease is asked for with, once nothing is wrong with it. */
export interface LeaseRequest {
  readonly route: string
  readonly terms: ProfileTerms
  readonly controller: AbortController
  readonly measure?: StartTaskOptions['measure']
  readonly submission: Partial<Submission>
}

/** Hands out leases to callers of this process, and keeps an eye on them. Source: `docs/semantics.md 10.1`. */
export class LeaseDesk {
  readonly #parts: LeaseDeskParts
  readonly #leases = new Map<string, CallerLease>()
  /** Those that were asked for and have not been answered. */
  readonly #starting = new Set<Promise<TaskLease>>()
  #isAbandoned = false
  #idle: (() => void)[] = []

  constructor(parts: LeaseDeskParts) {
    this.#parts = parts
  }

  /** Leases whose work has not stopped, and those that are about to begin. */
  get size(): number {
    return this.#leases.size + this.#starting.size
  }

  /** Those that were not given back within `abortGraceMs` of their end. */
  get leaked(): readonly LeakedHandler[] {
    return [...this.#leases.values()].flatMap(({ leaked }) => leaked ?? [])
  }

  async startTask(route: string, options: StartTaskOptions = {}, byDefault: TaskProfile): Promise<TaskLease> {
    this.#parts.assertTaking()
    assertRoute('startTask', route)
    assertOptions('startTask', options, startRules)
    const { profile: setting, limits, timeout, abortController, measure, lane, taskId, labels } = options
    // Limits alone are those of the route's profile.
    assertFields(profileProblems(setting === undefined ? 'STANDARD' : setting, limits, 'startTask option '))
    const profile =
      setting === undefined
        ? { ...byDefault, limits: limits ?? byDefault.limits }
        : profileOf(setting, limits)
    if (needsAbortController(profile.profile) && abortController === undefined)
      throw invalid(
        `startTask '${route}': the profile ${profile.profile} needs an abortController, so that the work can be stopped when its lease expires`,
      )
    if (abortController?.signal.aborted === true)
      throw invalid(`startTask '${route}': the abortController has already aborted`)
    return this.start({
      route,
      terms: termsOf(profile, timeout),
      controller: abortController ?? new AbortController(),
      measure,
      submission: {
        ...(lane === undefined ? {} : { lane }),
        ...(taskId === undefined ? {} : { taskId }),
        ...(labels === undefined ? {} : { labels }),
      },
    })
  }

  /** Throws `TaskRejected` when the route or a swarm refuses it. */
  async start(request: LeaseRequest): Promise<TaskLease> {
    const started = this.#start(request)
    this.#starting.add(started)
    try {
      return await started
    } finally {
      this.#starting.delete(started)
      this.#wake()
    }
  }

  async #start({ route, terms, controller, measure, submission }: LeaseRequest): Promise<TaskLease> {
    const trace = this.#parts.trace()
    const outcome = await this.#parts.store.write({
      kind: 'startLease',
      submission: {
        type: route,
        lane: 'normal',
        input: encode(undefined, { what: 'no input' }),
        ...(trace === undefined ? {} : { trace }),
        ...submission,
        profile: terms,
      },
    })
    if (outcome.as === 'refused') {
      const receipt = openReceipt(outcome.receipt)
      if (receipt.accepted) throw invalid(`startTask '${route}': the task already exists`)
      throw new TaskRejected(receipt.taskId, receipt.reason, receipt.message, receipt.forGood)
    }
    const { leaseId, taskId, left } = outcome
    const onGone = () => this.#gone(leaseId)
    const lease = new CallerLease(this.#parts, {
      leaseId,
      taskId,
      route,
      terms,
      controller,
      measure,
      left,
      onGone,
    })
    this.#leases.set(leaseId, lease)
    if (this.#isAbandoned) await lease.abandon()
    return lease
  }

  noticed(notices: readonly LeaseNotice[]): void {
    for (const notice of notices) this.#leases.get(notice.leaseId)?.heed(notice)
  }

  /** The store is gone for good. */
  failed(error: Error): void {
    for (const lease of this.#leases.values()) lease.lose(error)
  }

  /** Resolves when every lease was released; at once if there is none. */
  idle(): Promise<void> {
    return this.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve))
  }

  /** Whoever holds a lease is told to stop, and so is who is given one that was asked for before. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true
    const leases = [...this.#leases.values()].map((lease) => lease.abandon())
    await Promise.allSettled([...leases, ...this.#starting])
  }

  #gone(leaseId: string): void {
    this.#leases.delete(leaseId)
    this.#wake()
  }

  #wake(): void {
    if (this.size > 0) return
    for (const wake of this.#idle.splice(0)) wake()
  }
}

/** Throws `invalid_argument` for what cannot be the name of a route. */
export function assertRoute(call: string, route: unknown): asserts route is string {
  if (!isName(route)) throw invalid(`${call}: a route has ${nameRule[0]}; given ${show(route)}`)
  if (route.startsWith(RESERVED))
    throw invalid(`${call}: a route must not begin with '${RESERVED}', which is reserved for the runtime`)
}

const anything = ['', () => true] as const
export const controllerRule = [
  'an AbortController',
  (value: unknown) => value instanceof AbortController,
] as const
const startRules: Rules<StartTaskOptions> = {
  profile: anything,
  limits: anything,
  timeout: limitRule,
  abortController: controllerRule,
  measure: functionRule,
  lane: isOneOf(lanes),
  taskId: nameRule,
  labels: submitRules.labels,
}
