import {
  assertFields,
  assertOptions,
  type ExecutionStore,
  isAmount,
  isWithinOne,
  pressureOf,
  resistanceOf,
  type RouteRecord,
  type Rule,
  type Rules,
  scalarPressure,
  type WorkTelemetry,
} from '@ku0/agent-runtime-core'
import type { RouteOptions, RouteStatus, RouteVerdict } from '../api/routes.ts'
import { assertRoute } from './lease-desk.ts'
import { profileOf, profileProblems } from '../terms/profile-setting.ts'
import type { ProfileSetting, TaskProfile } from '../api/profiles.ts'

/** Routes of which this process remembers what it heard last; the oldest are forgotten. */
const MAX_HEARD = 10_000

/** The routes of un-leased work, and the profiles that were set for any. Source: `docs/semantics.md 10.1-10.3`. */
export class Routes {
  readonly #store: Pick<ExecutionStore, 'read' | 'write'>
  readonly #profiles = new Map<string, TaskProfile>()
  readonly #heard = new Map<string, { readonly telemetry: WorkTelemetry; readonly pressure: number }>()

  constructor(store: Pick<ExecutionStore, 'read' | 'write'>) {
    this.#store = store
  }

  setProfile(route: string, setting: ProfileSetting): void {
    assertRoute('setRouteProfile', route)
    assertFields(profileProblems(setting ?? null, undefined, 'setRouteProfile '))
    this.#profiles.set(route, profileOf(setting))
  }

  profileOf(route: string, otherwise: 'LIGHT' | 'STANDARD'): TaskProfile {
    return this.#profiles.get(route) ?? profileOf(otherwise)
  }

  async observe(
    route: string,
    telemetry: WorkTelemetry | undefined,
    options: RouteOptions = {},
  ): Promise<RouteVerdict> {
    assertRoute('route', route)
    assertOptions('route', options, routeRules)
    assertOptions('route telemetry', telemetry, telemetryRules)
    const { profile: setting, limits } = options
    assertFields(profileProblems(setting, limits, 'route option '))
    const { profile, config } =
      setting === undefined ? this.profileOf(route, 'LIGHT') : profileOf(setting, limits)
    const { latencyMs } = telemetry ?? {}
    const outcome = await this.#store.write({
      kind: 'observeRoute',
      route,
      baselineMs: config.baselineLatencyMs,
      ...(latencyMs === undefined ? {} : { latencyMs }),
    })
    const vector = pressureOf(telemetry ?? {}, config)
    const pressure = scalarPressure(vector)
    if (telemetry !== undefined) this.#hear(route, telemetry, pressure)
    const resistance = resistanceOf({ pressure, scar: outcome.totalScar, overSoft: false })
    return { routeId: route, profile, ...outcome, vector, pressure, resistance }
  }

  async status(): Promise<readonly RouteStatus[]> {
    const records = await this.#store.read({ kind: 'routes' })
    const known = new Map(records.map((record) => [record.route, record]))
    const names = new Set([...known.keys(), ...this.#profiles.keys(), ...this.#heard.keys()])
    return [...names]
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map((route) => this.#statusOf(known.get(route) ?? { ...quiet, route }))
  }

  #statusOf(record: RouteRecord): RouteStatus {
    const heard = this.#heard.get(record.route)
    const profile = this.#profiles.get(record.route)?.profile
    const isIdle = record.leases === 0 && heard !== undefined
    const pressure = isIdle ? heard.pressure : record.pressure
    return {
      ...record,
      pressure,
      maxPressure: Math.max(record.maxPressure, pressure),
      resistance: record.resistance - record.pressure + pressure,
      ...(profile === undefined ? {} : { profile }),
      ...(heard === undefined ? {} : { telemetry: heard.telemetry }),
    }
  }

  #hear(route: string, telemetry: WorkTelemetry, pressure: number): void {
    this.#heard.delete(route)
    this.#heard.set(route, { telemetry, pressure })
    const [oldest] = this.#heard.keys()
    if (this.#heard.size > MAX_HEARD && oldest !== undefined) this.#heard.delete(oldest)
  }
}

/** A route of which the store knows nothing. */
const quiet: Omit<RouteRecord, 'route'> = {
  circuit: 'closed',
  healthy: true,
  scar: 0,
  retryAfterMs: 0,
  leases: 0,
  pressure: 0,
  maxPressure: 0,
  resistance: 0,
}

const anything: Rule = ['', () => true]
const amountRule: Rule = ['a number, 0 or more', isAmount]
const shareRule: Rule = ['a number from 0 to 1', isWithinOne]
const routeRules: Rules<RouteOptions> = { profile: anything, limits: anything }
const telemetryRules: Rules<WorkTelemetry> = {
  latencyMs: amountRule,
  computeUs: amountRule,
  memoryBytes: amountRule,
  heartbeatAge: amountRule,
  errorRate: shareRule,
  saturation: shareRule,
  progress: shareRule,
}
