import { isRecord } from '@ku0/agent-runtime-core'

/** What a row says is nothing that a store has written there: told as `store_corrupt`, with the path of the file. */
export class DamagedRow extends Error {}

/** The object in a column. Throws {@link DamagedRow}, or a SyntaxError for what is no JSON. */
export function storedObject(text: string, column: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text)
  if (!isRecord(value)) throw new DamagedRow(`${column} holds ${shortened(text)}, which is no object`)
  return value
}

/** The list in a column. Throws as {@link storedObject} does. */
export function storedList<T>(text: string, column: string): T[] {
  const value: unknown = JSON.parse(text)
  if (!Array.isArray(value)) throw new DamagedRow(`${column} holds ${shortened(text)}, which is no list`)
  return value as T[]
}

function shortened(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

const MAX_SHOWN = 40
