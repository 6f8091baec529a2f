import type { ExecutionConfigInput } from '@ku0/agent-runtime-core'
import type { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { foldingRules, startCredits, type Structures } from './structures.ts'
import { drawWorkload, type Workload } from './workload.ts'

/** What can go wrong in a simulated life. */
const faults = [
  'crash',
  'crash at a message',
  'pause',
  'blocked loop',
  'late replies',
  'lost replies',
  'repeated writes',
  'lost notices',
  'busy',
  'held lock',
  'full disk',
  'clock jump',
  'stop',
  'later code',
] as const
export type Fault = (typeof faults)[number]

/** The choices of one seed: which faults there are and how often, how the store is set, how much is asked of it. */
export interface Swarm {
  readonly mode: 'safety' | 'liveness'
  readonly processes: number
  readonly workers: number
  readonly capacity: number
  readonly faults: readonly Fault[]
  /** Mean time between two faults, ms. */
  readonly faultEveryMs: number
  /** How long faults are brought. */
  readonly faultsMs: number
  readonly submissions: number
  readonly accounts: Accounts
  readonly workload: Workload
  readonly structures: Structures
  readonly config: ExecutionConfigInput
}

/** On whose account work is done, and what submits it by itself. */
export interface Accounts {
  /** Clients have shares. */
  readonly shares: boolean
  /** Some tasks have a budget. */
  readonly budgets: boolean
  /** Schedules submit tasks. */
  readonly schedules: boolean
}

/** Times are a sixtieth of the defaults: nothing but fixed times of the product, such as half a second between two looks around, knows. */
export const leaseTtlMs = 500

/** `purse` draws what has to do with accounts, `work` what else is asked for: without any a seed draws the rest as it does with them. `structures` were drawn before. */
export function drawSwarm(
  random: SeededRandom,
  purse: SeededRandom,
  work: SeededRandom,
  structures: Structures,
): Swarm {
  const { ledger } = structures
  const isShared = purse.int(4) === 0
  const accounts = {
    // A ledger is one of shares.
    shares: isShared || ledger !== undefined,
    budgets: purse.int(4) === 0,
    schedules: purse.int(4) === 0,
  }
  const mode = random.int(3) === 0 ? 'safety' : 'liveness'
  // Leases that are lost while their holder lives are what most depends on.
  const kept = faults.filter((fault) => (fault === 'pause' ? random.int(4) > 0 : random.int(2) === 0))
  return {
    mode,
    processes: 2 + random.int(2),
    workers: 1 + random.int(2),
    capacity: 1 + random.int(3),
    faults: kept.length === 0 ? [random.pick(faults)] : kept,
    faultEveryMs: random.pick([100, 200, 400]),
    faultsMs: 1_500 + random.int(2_500),
    submissions: 10 + random.int(12),
    accounts,
    workload: drawWorkload(work),
    structures,
    config: {
      leaseTtlMs,
      heartbeatIntervalMs: 160,
      schedulerTickMs: 100,
      maxInFlightPerWorker: 4,
      queueDepthLimit: random.pick([8, 12, 40]),
      batchBackpressureThreshold: 5,
      maxCrashes: random.pick([3, 5, 5]),
      maxStallMs: 800,
      drainGraceMs: 300,
      abortGraceMs: 400,
      cleanupTimeoutMs: 200,
      killGraceMs: 100,
      presenceIntervalMs: 500,
      presenceTtlMs: 3_000,
      preemption: random.int(3) === 0,
      circuitOpenMs: 600,
      scarFactor: 0.2,
      maxInlineBytes: random.pick([200, 10_000]),
      ...(accounts.shares
        ? {
            shares: {
              tierPolicy: purse.pick(['strict', 'weighted'] as const),
              keying: purse.pick(['dispatch', 'enqueue'] as const),
              ...(ledger === undefined ? {} : { ledger: true, outOfCredits: ledger, startCredits }),
            },
          }
        : {}),
      ...(structures.folds ? { retention: foldingRules } : {}),
      ...(random.int(2) === 0
        ? {}
        : {
            quotaConfig: {
              models: { big: { maxInFlight: 2, onExceeded: random.pick(['defer', 'reject'] as const) } },
            },
          }),
    },
  }
}
