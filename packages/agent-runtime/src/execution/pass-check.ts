import type { Claim, RuntimeError } from '@ku0/agent-runtime-core'

/** Replays each pass at once, in strict mode. Source: `docs/strict-mode.md`. */
export interface PassCheck {
  /**
   * The handler has returned `output`, and nothing was settled: the error that is its end instead, if it does not do and return the
   * same now.
   */
  returned(claim: Claim, output: string): Promise<RuntimeError | undefined>
  /** The task waits. */
  suspended(claim: Claim): void
  /** What was found when it waited: the end of its next pass. Found once. */
  foundEarlier(claim: Claim): RuntimeError | undefined
}
