import { RuntimeError } from '../error/errors.ts'
import { hasMethods } from '../check/readable.ts'
import { show } from '../check/show.ts'

/**
 * Time, as a process sees it. The store's clock judges leases; this one dates what a process does on its own.
 * Source: `docs/semantics.md 4.7`.
 */
export interface Clock {
  /** Wall clock, epoch ms. May jump either way; never measure a duration with it. */
  now(): number
  /** Ms since some fixed moment; never goes back. For durations and local deadlines. */
  monotonic(): number
}

/** An armed timer. Cancelling twice, or after it ran, does nothing. */
export interface Timer {
  cancel(): void
}

/** Timers of this process. A timer that must survive the process is a durable timer in the store instead. */
export interface Timers {
  /**
   * Runs `run` once, no earlier than `delayMs` from now. Throws `invalid_argument` for a delay that is
   * negative or not finite. A delay above {@link MAX_ARMED_MS} is not trusted to the platform (2^31 ms fires
   * at once): the caller arms for at most that long and looks again. Source: `docs/reliability.md` T11.
   */
  after(delayMs: number, run: () => void): Timer
}

/** Fresh identifiers. */
export interface Ids {
  /**
   * A UUID in lower case, never the same twice. `subject` names what it is for, as that of {@link Random.next}: a test's source may give the
   * same one again for the same subject.
   */
  uuid(subject?: string): string
}

/** Chance. Its results are recorded, so that a replay does not draw again. */
export interface Random {
  /**
   * A number in [0, 1). `subject` names what is drawn for, where a process may have to draw for it again after a crash that kept its
   * draw from being recorded; a source that repeats itself, such as a test's, may give the same number then.
   */
  next(subject?: string): number
}

/** SHA-256, brought in because core does no I/O. Source: `docs/semantics.md 6.2`. */
export interface Digest {
  /** The 32-byte digest of the bytes. */
  sha256(bytes: Uint8Array): Uint8Array
  /** The digest of the text's UTF-8 bytes: 64 lower-case hex digits. */
  sha256Hex(text: string): string
}

/**
 * Everything from outside that the runtime uses besides the store, injected together so that a test can
 * replace it all.
 */
export interface Environment {
  readonly clock: Clock
  readonly timers: Timers
  readonly ids: Ids
  readonly random: Random
  readonly digest: Digest
}

/** Whether a value has all that an {@link Environment} has to have. Never throws. */
export function isEnvironment(value: unknown): value is Environment {
  const has = (part: string, ...names: readonly string[]) =>
    hasMethods((value as Readonly<Record<string, unknown>>)[part], ...names)
  try {
    return (
      has('clock', 'now', 'monotonic') &&
      has('timers', 'after') &&
      has('ids', 'uuid') &&
      has('random', 'next') &&
      has('digest', 'sha256', 'sha256Hex')
    )
  } catch {
    // Nothing, which has no parts, or a getter that throws.
    return false
  }
}

/** The longest delay, in ms, that callers arm a timer for in one go. Source: `docs/reliability.md` T11. */
export const MAX_ARMED_MS = 60_000

/**
 * Throws `invalid_argument` unless `delayMs` is finite and not negative. Every {@link Timers} starts with it.
 */
export function assertDelay(delayMs: number): void {
  if (Number.isFinite(delayMs) && delayMs >= 0) return
  throw new RuntimeError(
    'invalid_argument',
    `a delay is a finite number of ms, 0 or more, not ${show(delayMs)}`,
  )
}
