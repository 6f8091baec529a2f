import { isErrorCode } from '../../src/error/codes.ts'
import { RuntimeError } from '../../src/error/errors.ts'

/**
 * What is wrong with an error that a call threw, or undefined: it has to be the house's own, with a code of the list other than
 * `internal`, and a message for people, without a stack and without what an engine or SQLite would say.
 */
export function wrongWith(error: unknown): string | undefined {
  if (!(error instanceof RuntimeError)) return `it is not the house's own: ${shown(error)}`
  const { name, code, message } = error
  const place = `${name} ${code}: ${message.slice(0, 500)}`
  if (!isErrorCode(code)) return `its code is not of the list: ${place}`
  if (code === 'internal') return `it is an assertion: ${place}\n${shown(error.cause)}`
  if (message.trim() === '') return `it says nothing: ${place}`
  if (message.length > 20_000) return `it says ${message.length} characters: ${place}`
  if (engineTalk.test(message)) return `it speaks as an engine does: ${place}`
  return undefined
}

const engineTalk =
  /\n\s+at |is not a function|is not iterable|Cannot (?:read|convert|mix)|circular structure|call stack|Invalid (?:time|array|string|count)|constraint failed|SQLITE_|datatype mismatch|SELECT |INSERT /

function shown(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
