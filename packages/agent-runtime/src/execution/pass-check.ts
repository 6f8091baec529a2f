import type { Claim, RuntimeError } from '@ku0/agent-runtime-core'

/** Replays each pass at once, in strict mode. Source: `docs/strict-mode.md`. */
export interface PassCheck {
  /** The handler has returned, and nothing was settled: the error that is its end instead, if it takes another path now. */
  returned(claim: Claim): Promise<RuntimeError | undefined>
  /** The task waits. */
  suspended(claim: Claim): void
  /** What was found when it waited: the end of its next pass. Found once. */
  foundEarlier(claim: Claim): RuntimeError | undefined
}
