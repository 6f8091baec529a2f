import { parameter } from './parameters.ts'

/** A statement with what it is given, each value as {@link parameter} or {@link arrayParameter} makes it. */
export interface Statement {
  readonly text: string
  readonly values: readonly (Buffer | string | null)[]
  /** Nobody reads its rows. */
  readonly isSilent?: boolean
}

/** What a statement gave. */
export interface Found {
  readonly fields: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  /** What the server says it did: `COMMIT`, `UPDATE 3`. */
  readonly command: string
}

/** A statement that only does something: what it returns is not read. */
export function statement(text: string, values: readonly unknown[] = []): Statement {
  return { text, values: values.map(parameter), isSilent: true }
}

/** One whose rows are read. */
export function question(text: string, values: readonly unknown[] = []): Statement {
  return { text, values: values.map(parameter) }
}
