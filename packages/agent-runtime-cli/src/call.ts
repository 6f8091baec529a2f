import type { Outlet } from './outlet.ts'
import type { Printer } from './screen/printer.ts'
import type { Settings } from './settings/settings.ts'
import type { System } from './system.ts'

/** One call of a command: what it was given, and where its words go. */
export interface Call {
  readonly args: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
  readonly print: Printer
  readonly outlet: Outlet
  readonly system: System
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal
  /** The settings of this call, read when they are first asked for. `more` are flags that were given in another way. */
  readonly settings: (more?: Readonly<Record<string, unknown>>) => Promise<Settings>
}

/** Runs a command and returns its exit code. */
export type Run = (call: Call) => Promise<number>
