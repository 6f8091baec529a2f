import type {
  PressureVector,
  ResourceLimits,
  RouteRecord,
  WorkloadProfile,
  WorkTelemetry,
} from '@ku0/agent-runtime-core'
import type { ProfileSetting } from './profiles.ts'

/** The answer of `runtime.route` about un-leased work. */
export interface RouteVerdict {
  readonly routeId: string
  readonly profile: WorkloadProfile
  /** False while the route's circuit is open. Resistance alone never refuses work. */
  readonly admitted: boolean
  /** True if this work is the probe of a half-open circuit: report how it went. */
  readonly probe: boolean
  readonly circuit: RouteRecord['circuit']
  readonly healthy: boolean
  /** How far the work was from what its profile expects, as a vector and as one number from 0 to 1. */
  readonly vector: PressureVector
  readonly pressure: number
  readonly resistance: number
  /** The scar that this work left, and the sum of all scars. */
  readonly scar: number
  readonly totalScar: number
  /** Ms until the circuit lets a probe through; 0 when it is not open. */
  readonly retryAfterMs: number
}

/** The state of a route: what the store knows, and what this process set and heard. */
export interface RouteStatus extends RouteRecord {
  /** The profile that `setRouteProfile` set in this process. */
  readonly profile?: WorkloadProfile
  /** The last telemetry that `runtime.route` got in this process. */
  readonly telemetry?: WorkTelemetry
}

export interface RouteOptions {
  readonly profile?: ProfileSetting | undefined
  readonly limits?: ResourceLimits | undefined
}
