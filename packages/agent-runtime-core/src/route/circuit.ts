import { decayedScar, scarFadesInMs } from './scar.ts'

/** `open`: nothing is admitted; `half_open`: one probe would be, or is under way, and its end decides. */
export const circuitStates = ['closed', 'open', 'half_open'] as const
export type CircuitState = (typeof circuitStates)[number]

/** How a route stands. Times are ms of one clock. */
export interface Circuit {
  /** As it was left: one that was left open is half open once it would let a probe through ({@link circuitStateAt}). */
  readonly state: CircuitState
  /** Its scar as it was at `scarAt`. */
  readonly scar: number
  readonly scarAt: number
  /** Since when it is not closed. */
  readonly openedAt: number | null
  /** When the probe of a half-open circuit was admitted. */
  readonly probeAt: number | null
  /** Something went wrong on the route, and nothing of it has succeeded since. */
  readonly unhealthy: boolean
}

export interface CircuitSettings {
  /** A scar of this size opens the circuit. */
  readonly circuitScarLimit: number
  /** How long an open circuit admits nothing at all. */
  readonly circuitOpenMs: number
}

/** A route of which nothing bad is known. */
export const healthyCircuit: Circuit = {
  state: 'closed',
  scar: 0,
  scarAt: 0,
  openedAt: null,
  probeAt: null,
  unhealthy: false,
}

export type CircuitVerdict =
  | { readonly admitted: true; readonly probe: boolean }
  | { readonly admitted: false; readonly retryAfterMs: number; readonly probing: boolean }

/** Whether a route takes one more. Source: `docs/semantics.md 10.3`. */
export function decideCircuit(
  it: Circuit,
  now: number,
  { circuitScarLimit, circuitOpenMs }: CircuitSettings,
): CircuitVerdict {
  if (it.state === 'closed') return { admitted: true, probe: false }
  if (it.state === 'half_open') return { admitted: false, retryAfterMs: 0, probing: true }
  const left = circuitOpenMs - Math.max(0, now - (it.openedAt ?? now))
  const retryAfterMs = Math.max(0, left, scarFadesInMs(scarNow(it, now), circuitScarLimit))
  return retryAfterMs > 0
    ? { admitted: false, retryAfterMs, probing: false }
    : { admitted: true, probe: true }
}

/** The state that is reported at a moment. Source: `docs/semantics.md 10.3`. */
export function circuitStateAt(it: Circuit, now: number, settings: CircuitSettings): CircuitState {
  return isProbe(decideCircuit(it, now, settings)) ? 'half_open' : it.state
}

/** Whether the next piece of work tests the route. */
export function isProbe(verdict: CircuitVerdict): boolean {
  return verdict.admitted && verdict.probe
}

/** The scar of a route at a moment. */
export function scarNow({ scar, scarAt }: Circuit, now: number): number {
  return decayedScar(scar, now - scarAt)
}

/** Work of the route left a scar; it opens the circuit when they are too many, also one that would let a probe through. */
export function scarred<C extends Circuit>(it: C, size: number, now: number, settings: CircuitSettings): C {
  const scar = scarNow(it, now) + size
  const next = { ...it, scar, scarAt: now, unhealthy: true }
  const isOpen = circuitStateAt(it, now, settings) === 'open'
  return scar >= settings.circuitScarLimit && !isOpen ? opened(next, now) : next
}

/** A hard limit was broken: the circuit is open from now on. */
export function breached<C extends Circuit>(it: C, now: number): C {
  return opened({ ...it, unhealthy: true }, now)
}

/** The one that finds out whether the route is well again was admitted. */
export function probing<C extends Circuit>(it: C, now: number): C {
  return { ...it, state: 'half_open', probeAt: now }
}

/** How the probe ended; a probe without a result of its own leaves its place to the next. */
export function probed<C extends Circuit>(it: C, how: 'success' | 'failure' | 'none', now: number): C {
  if (how === 'failure') return opened({ ...it, unhealthy: true }, now)
  return how === 'success'
    ? { ...it, state: 'closed', openedAt: null, probeAt: null, unhealthy: false }
    : { ...it, state: 'open', probeAt: null }
}

/** A scar below this counts as 0. */
const NO_SCAR = 0.001

/** Whether there is nothing to remember of a route. */
export function isForgotten(it: Circuit, now: number): boolean {
  return it.state === 'closed' && !it.unhealthy && scarNow(it, now) < NO_SCAR
}

function opened<C extends Circuit>(it: C, now: number): C {
  return { ...it, state: 'open', openedAt: now, probeAt: null }
}
