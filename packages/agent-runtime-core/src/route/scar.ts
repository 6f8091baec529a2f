import { normalize } from '../profile/pressure.ts'

/** Scars fade by this share of themselves in a second, continuously. */
const DECAY_PER_S = 0.1

/** The rest of a scar after some time. Source: `docs/semantics.md 10.3`. */
export function decayedScar(scar: number, elapsedMs: number): number {
  return scar * Math.exp((-DECAY_PER_S * Math.max(0, elapsedMs)) / 1_000)
}

/** How long it takes for a scar to fall below a limit, in ms; 0 when it is. */
export function scarFadesInMs(scar: number, limit: number): number {
  return scar < limit ? 0 : Math.floor((Math.log(scar / limit) / DECAY_PER_S) * 1_000) + 1
}

/** Why work leaves a scar. */
export type ScarCause =
  /** Un-leased work that took longer than its profile expects. */
  | { readonly as: 'slow'; readonly actualMs: number; readonly baselineMs: number }
  /** A lease whose work went on after its deadline. */
  | { readonly as: 'overrun'; readonly overrunMs: number; readonly grantedMs: number }
  /** A lease whose profile requires heartbeats, and whose holder lives and has sent none for `leaseTtlMs`. */
  | { readonly as: 'silent' }

/** Each silence of a lease leaves this: enough to open the circuit. Source: `docs/semantics.md` C8. */
const SILENT_SCAR = 1

/** The size of the scar, 0 for none. Source: `docs/semantics.md` C9, C11, C12. */
export function scarOf(cause: ScarCause, scarFactor: number): number {
  switch (cause.as) {
    case 'slow':
      return scarFactor * Math.max(0, normalize(cause.actualMs, cause.baselineMs))
    case 'overrun':
      return cause.grantedMs > 0 ? (scarFactor * Math.max(0, cause.overrunMs)) / cause.grantedMs : 0
    case 'silent':
      return SILENT_SCAR
  }
}
