/** What the commands exit with. */
export const exitCode = {
  /** Every selected scenario passed; the score is high enough. */
  ok: 0,
  /** A scenario failed, none was found, the score is too low, the report was lost, or a comparison found a regression. */
  failed: 1,
  /** The command line or a file given to it is wrong, or the report has no place; nothing ran. */
  usage: 2,
  /** Stopped by SIGINT or SIGTERM. */
  interrupted: 130,
} as const
export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** A mistake of whoever called: one line for a person, no stack. */
export class UsageError extends Error {
  static {
    this.prototype.name = 'UsageError'
  }
}
