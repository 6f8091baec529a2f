import type { Run } from '../call.ts'

/** A command as the help, the completion scripts and the documentation show it. It loads no code of its own until it is run. */
export interface CommandEntry {
  readonly name: string
  /** One line, in the present tense, without a full stop. */
  readonly about: string
  /** More, for `--help` and the documentation. */
  readonly details?: string
  readonly args?: readonly ArgumentEntry[]
  readonly options?: readonly OptionEntry[]
  readonly examples: readonly Example[]
  /** It may make the store, and migrate one of an older version. Every other command needs a store that is there, and leaves its version as it is. */
  readonly makesStore?: boolean
  /** Why it takes no `--server`, and what to use: `it …`. */
  readonly noServer?: string
  /** Exit codes that mean something of their own here. */
  readonly exits?: readonly (readonly [code: number, when: string])[]
  /** Commands below this one. This one runs if none of them is named. */
  readonly commands?: readonly CommandEntry[]
  readonly load: () => Promise<{ readonly run: Run }>
}

/** An argument: `<task>` is required, `[task]` is not, `[tasks...]` are several. */
interface ArgumentEntry {
  readonly name: string
  readonly about: string
  /** The words that it may be, for the completion of a shell. */
  readonly words?: readonly string[]
}

/** An option, as commander writes it: `-n, --limit <n>`. */
export interface OptionEntry {
  readonly flags: string
  readonly about: string
  /** Reads the text that was given; throws with what is allowed. */
  readonly read?: (text: string, before: unknown) => unknown
  readonly choices?: readonly string[]
  /** Words that its value may have besides, for the completion of a shell. */
  readonly words?: readonly string[]
  /** Shown in the help; the command itself applies it. */
  readonly fallback?: string
}

/** A command line and what it does. */
type Example = readonly [line: string, does: string]

/** Commands that belong together, in the order of the help. */
export interface CommandGroup {
  readonly title: string
  readonly commands: readonly CommandEntry[]
}
