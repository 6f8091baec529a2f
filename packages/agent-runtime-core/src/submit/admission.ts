import type { RejectionReason } from '../event/event.ts'
import type { Lane } from '../task/lane.ts'
import type { AdmissionVerdict, Objection } from './verdict.ts'

/** The facts of an admission decision: the limits, and the counts before the insert. */
export interface AdmissionCase {
  readonly lane: Lane
  /** Promoted queued tasks in all lanes. */
  readonly depth: number
  /** Whether the task is not to start yet; it then stays outside the depth until it is due. */
  readonly delayed: boolean
  readonly delayedCount: number
  readonly limits: {
    readonly queueDepthLimit: number
    readonly batchBackpressureThreshold: number
    readonly maxDelayed: number
    readonly maxClients: number
  }
  /** A refusal by the entry point, which counts before everything else. */
  readonly refused?: { readonly reason: RejectionReason; readonly message: string } | undefined
  /** A refusal by a circuit or a swarm, asked for after the depth. */
  readonly tripped?: (() => (Objection & { readonly reason: RejectionReason }) | undefined) | undefined
  /** How many clients there are, when the submission is of one more. */
  readonly clients?: number | undefined
  /** Why a budget above it has nothing left, asked before the quota. */
  readonly exhaustedBudget?: (() => Objection | undefined) | undefined
  /** Why the credits of its client are too few, asked before the quota. */
  readonly exceededCredits?: (() => Objection | undefined) | undefined
  /** A refusal by a quota, asked for last. */
  readonly exceededQuota?: (() => Objection | undefined) | undefined
}

export type Admission =
  | { readonly accepted: true }
  | {
      readonly accepted: false
      readonly reason: RejectionReason
      readonly message: string
      /** The facts of the decision; absent if the entry point refused. */
      readonly verdict?: AdmissionVerdict
      /** As things are set there will never be room for it. */
      readonly forGood?: true
    }

/** Whether a submission was refused for how much there is, not for what it is: the same one is taken once there is room. */
export function wantsRoom(it: { readonly reason: RejectionReason; readonly forGood?: boolean }): boolean {
  return it.forGood !== true && roomReasons.has(it.reason)
}

const roomReasons: ReadonlySet<RejectionReason> = new Set(['queue_full', 'backpressure', 'quota_exceeded'])

const accepted: Admission = { accepted: true }

/**
 * Whether a submission becomes a queued task. Fixed order: front door, hard depth, soft depth, circuit, swarm, budget, credits, quota.
 * Source: Track AA, Scheduling Rules (backpressure), Quota Rules; `docs/semantics.md 2.1, 2.2, 2.4`.
 */
export function decideAdmission(it: AdmissionCase): Admission {
  const { limits } = it
  if (it.refused) return { accepted: false, ...it.refused }
  if (it.delayed) {
    if (it.delayedCount >= limits.maxDelayed)
      return refuse('queue_full', {
        message: `there are ${it.delayedCount} delayed tasks, and maxDelayed is ${limits.maxDelayed}; submit later`,
        verdict: { by: 'limit', limit: 'maxDelayed', max: limits.maxDelayed, value: it.delayedCount },
      })
  } else {
    if (it.depth >= limits.queueDepthLimit)
      return refuse('queue_full', {
        message: `the queue depth is ${it.depth}, and queueDepthLimit is ${limits.queueDepthLimit}; submit later`,
        verdict: { by: 'limit', limit: 'queueDepthLimit', max: limits.queueDepthLimit, value: it.depth },
      })
    const threshold = limits.batchBackpressureThreshold
    if (it.depth >= threshold && it.lane === 'batch')
      return refuse('backpressure', {
        message: `the queue depth is ${it.depth}, and batchBackpressureThreshold is ${threshold}: no batch task is accepted; submit later`,
        verdict: { by: 'limit', limit: 'batchBackpressureThreshold', max: threshold, value: it.depth },
      })
  }
  const tripped = it.tripped?.()
  if (tripped !== undefined) return { accepted: false, ...tripped }
  const spent = it.exhaustedBudget?.()
  if (spent !== undefined) return refuse('budget_exceeded', spent)
  if (it.clients !== undefined && it.clients >= limits.maxClients)
    return refuse('quota_exceeded', {
      message: `there are ${it.clients} clients, and maxClients is ${limits.maxClients}; remove clients that are not used any more`,
      verdict: { by: 'limit', limit: 'maxClients', max: limits.maxClients, value: it.clients },
    })
  const credits = it.exceededCredits?.()
  if (credits !== undefined) return refuse('quota_exceeded', credits)
  const quota = it.exceededQuota?.()
  if (quota !== undefined) return refuse('quota_exceeded', quota)
  return accepted
}

function refuse(reason: RejectionReason, why: Objection): Admission {
  return { accepted: false, reason, ...why }
}
