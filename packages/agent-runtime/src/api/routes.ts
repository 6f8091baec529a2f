import type {
  PressureVector,
  ResourceLimits,
  RouteRecord,
  WorkloadProfile,
  WorkTelemetry,
} from '@ku0/agent-runtime-core'
import type { ProfileSetting } from './profiles.ts'

/** What `runtime.route` says of un-leased work. */
export interface RouteVerdict {
  readonly routeId: string
  readonly profile: WorkloadProfile
  /** False while the route's circuit is open. Resistance never refuses by itself. */
  readonly admitted: boolean
  /** It is the one that finds out whether the route is well again: tell how it went. */
  readonly probe: boolean
  readonly circuit: RouteRecord['circuit']
  readonly healthy: boolean
  /** How far it was from what its profile expects, and one number from 0 to 1 of that. */
  readonly vector: PressureVector
  readonly pressure: number
  readonly resistance: number
  /** What this work left, and what there is in all. */
  readonly scar: number
  readonly totalScar: number
  /** Ms until the circuit lets a probe through; 0 when it is not open. */
  readonly retryAfterMs: number
}

/** How a route stands: what the store knows, and what this process has set and heard. */
export interface RouteStatus extends RouteRecord {
  /** What `setRouteProfile` set here. */
  readonly profile?: WorkloadProfile
  /** What `runtime.route` heard last here. */
  readonly telemetry?: WorkTelemetry
}

export interface RouteOptions {
  readonly profile?: ProfileSetting | undefined
  readonly limits?: ResourceLimits | undefined
}
