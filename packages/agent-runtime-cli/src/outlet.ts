import type { Spawn } from './spawn.ts'
import type { System } from './system.ts'

/** The surroundings of a command. Everything but the two streams has a default. */
export interface Outlet {
  /** Standard output: data. */
  readonly out: (text: string) => void
  /** Standard error: everything else. */
  readonly err: (text: string) => void
  /** Standard input. */
  readonly input?: (() => AsyncIterable<string | Uint8Array>) | undefined
  /** Whether standard input is a terminal: then nobody waits for an input that was not asked for. False by default. */
  readonly isInputTerminal?: (() => boolean) | undefined
  /** Whether standard output is a terminal: then there are colours, and `--watch` clears the screen. False by default. */
  readonly isTerminal?: boolean | undefined
  /** The width of the terminal. */
  readonly columns?: number | undefined
  /** The working directory; that of the process by default. */
  readonly folder?: string | undefined
  /** The environment variables; those of the process by default. */
  readonly variables?: Readonly<Record<string, string | undefined>> | undefined
  /** Starts another process of this program, for `--watch` and the jobs of a hybrid worker; on the Node and the code of this one by default. */
  readonly spawn?: Spawn | undefined
  /** Calls the listener whenever the command is asked to load its files again, which SIGHUP does; without a listener SIGHUP ends the command. */
  readonly onReload?: ((listener: () => void) => Disposable) | undefined
  /** Opens a page in a browser; that of this machine by default. */
  readonly browse?: ((url: string) => void) | undefined
  /** Clock and timers, for tests. */
  readonly system?: System | undefined
}
