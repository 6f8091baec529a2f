/** The type of a column, or of what a statement is given. */
export type ParameterType = 'bigint' | 'double precision' | 'text' | 'bytea'

/** The type under which a value crosses to PostgreSQL: numbers are whole, but for those of evaluations and circuits. */
export function schemaTypeOf(value: unknown): ParameterType {
  if (typeof value === 'number') return Number.isInteger(value) ? 'bigint' : 'double precision'
  if (value instanceof Uint8Array) return 'bytea'
  return 'text'
}

/**
 * PostgreSQL keeps no text with a NUL in it, and the runtime has keys and names with one. So the first two characters are written as pairs,
 * in the same order among all other texts.
 */
export function storable(text: string): string {
  return text.includes(NUL) || text.includes(ESCAPE)
    ? text.replaceAll(ESCAPE, ESCAPE + AFTER).replaceAll(NUL, ESCAPE + ESCAPE)
    : text
}

/** What {@link storable} wrote. */
export function restored(text: string): string {
  if (!text.includes(ESCAPE)) return text
  const [first = '', ...rest] = text.split(ESCAPE + ESCAPE)
  return [first, ...rest].map((part) => part.replaceAll(ESCAPE + AFTER, ESCAPE)).join(NUL)
}

const NUL = '\u0000'
const ESCAPE = '\u0001'
const AFTER = '\u0002'
