import { readFileSync } from 'node:fs'
import { UsageError } from '../cli/exit-code.ts'

/** One recorded request: when it came, after the first one, and how large it was. */
export interface TraceRequest {
  readonly afterMs: number
  readonly contextTokens: number
  readonly generatedTokens: number
}

/** The columns a trace must have, in any order; others are passed over. */
const traceColumns = ['TIMESTAMP', 'ContextTokens', 'GeneratedTokens'] as const

/** Reads a CSV of arrivals and sizes. Throws {@link UsageError} naming the line and what is wrong with it. */
export function readTrace(file: string): readonly TraceRequest[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`--trace: cannot read ${file}: ${(cause as Error).message}`, { cause })
  }
  return parseTrace(text, file)
}

/** The requests of a trace's text, by time of arrival. */
export function parseTrace(text: string, name: string): readonly TraceRequest[] {
  const lines = text.replace(/^\u{feff}/u, '').split(/\r?\n/)
  const header = (lines[0] ?? '').split(',').map((column) => column.trim())
  const places = traceColumns.map((column) => header.indexOf(column))
  const missing = traceColumns.filter((_, i) => places[i] === -1)
  if (missing.length > 0) {
    throw new UsageError(
      `--trace: ${name} has no column ${missing.join(', ')}; expected ${traceColumns.join(',')}`,
    )
  }
  const rows = lines.slice(1).flatMap((line, i) => {
    if (line.trim() === '') return []
    const cells = line.split(',')
    const [time, context, generated] = places.map((place) => (cells[place] ?? '').trim())
    return [
      {
        at: parseTime(time, name, i + 2),
        context: parseTokens(context, name, i + 2),
        generated: parseTokens(generated, name, i + 2),
      },
    ]
  })
  if (rows.length === 0) throw new UsageError(`--trace: ${name} has no requests`)
  const sorted = rows.toSorted((a, b) => a.at - b.at)
  const first = sorted[0]?.at ?? 0
  return sorted.map(({ at, context, generated }) => ({
    afterMs: at - first,
    contextTokens: context,
    generatedTokens: generated,
  }))
}

/** `2023-11-16 18:17:03.9799600` (UTC), or anything else that Date can read. Ten-millionths are kept as fractions of a ms. */
function parseTime(cell: string | undefined, name: string, line: number): number {
  const match = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]\d{2}:?\d{2})?$/.exec(cell ?? '')
  const whole =
    match === null ? Date.parse(cell ?? '') : Date.parse(`${match[1]}T${match[2]}${match[4] ?? 'Z'}`)
  const at = whole + (match?.[3] === undefined ? 0 : Number(`0${match[3]}`) * 1000)
  if (Number.isNaN(at))
    throw new UsageError(`--trace: ${name}:${line}: TIMESTAMP is no time: ${JSON.stringify(cell)}`)
  return at
}

function parseTokens(cell: string | undefined, name: string, line: number): number {
  if (!/^\d{1,9}$/.test(cell ?? '')) {
    throw new UsageError(
      `--trace: ${name}:${line}: a number of tokens is a whole number, not ${JSON.stringify(cell)}`,
    )
  }
  return Number(cell)
}
