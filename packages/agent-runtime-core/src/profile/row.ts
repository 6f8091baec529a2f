import type { ProfileTerms } from './schema.ts'

/** The usage of a running task with a profile, and of an agent of a swarm. Most tasks have no such row. */
export interface UsageRow {
  readonly task: number
  /** Its live lease. */
  readonly lease: number | null
  readonly route: string
  readonly terms: ProfileTerms
  readonly swarm: string | null
  readonly agent: string | null
  readonly laneRank: number
  /** The how-manieth agent of its swarm it is. */
  readonly order: number
  /** The amounts that are reserved for it in the swarm's budget; null if it draws on the rest. */
  readonly promisedCpuUs: number | null
  readonly promisedMemoryBytes: number | null
  /** CPU time so far, the most that was reported, of an agent in whatever pass; and what the live lease holds. */
  readonly computeUs: number
  readonly memoryBytes: number
  /** Its scalar pressure. */
  readonly pressure: number
  /** Heartbeats of its holder. */
  readonly reports: number
  readonly reportedAt: number | null
  /** 0 to 1, as it was reported last. */
  readonly progress: number | null
  readonly errorRate: number | null
  readonly saturation: number | null
  /** The warning of the soft limit was recorded. */
  readonly warned: boolean
}
