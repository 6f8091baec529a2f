import type { Draw } from './draws.ts'

/** A function that decides or words something from plain data, and what it is given. */
export interface Call {
  readonly call: (...given: never[]) => unknown
  readonly given: readonly Draw[]
}
