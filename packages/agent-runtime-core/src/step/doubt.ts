import { RESERVED } from '../wait/wait.ts'

/** The key of the question to a human whether a step took effect that was started so often. Source: `docs/semantics.md 7.6`. */
export function doubtKey(step: string, starts: number): string {
  return `${DOUBT}${starts}/${step}`
}

/** Whether a request for an approval is such a question. */
export function isDoubt(key: unknown): boolean {
  return typeof key === 'string' && key.startsWith(DOUBT)
}

/** The step that such a question is about. */
export function doubted(key: string): string {
  return key.slice(key.indexOf('/', DOUBT.length) + 1)
}

/** The content of such a question: its artifact. Times are epoch ms. */
export interface Doubt {
  /** The step's key. */
  readonly inDoubt: string
  /** How often it was started. */
  readonly starts: number
  /** When it was last started. */
  readonly startedAt: number
  /** The attempt of the task that found it in doubt. */
  readonly attempt: number
  /** The key that its function was given, to pass on to outside systems. */
  readonly idempotencyKey: string
}

/** A step without a memo that was started. */
export interface StartedStep {
  readonly key: string
  readonly position: number
  /** The hash of the declared input. */
  readonly inputHash?: string
  /** How often. */
  readonly starts: number
  /** When the last start was, epoch ms. */
  readonly startedAt: number
  /** The event of the last start, or the event by which a fork inherited it. */
  readonly seq: number
  /** The idempotency key that it had in the task that this one is a fork of, and has here. */
  readonly effectKey?: string
  /** Nobody knows how the last start ended. */
  readonly inDoubt: boolean
}

const DOUBT = `${RESERVED}doubt/`
