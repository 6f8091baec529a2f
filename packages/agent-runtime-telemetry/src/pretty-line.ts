import { stripVTControlCharacters, styleText } from 'node:util'

/** Names of levels as a person reads them, and their colours. */
const shown = {
  10: ['trace', 'dim'],
  20: ['debug', 'dim'],
  30: ['info', 'green'],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
} as const

/** Longer lines of a list are hard to read beside others. */
const longest = 300

/**
 * A line of JSON as a person reads it on a terminal: time of day, level, message, and the fields as `name=value`; the stack of an error below. Control characters are shown and never
 * reach the terminal: a field may hold anything.
 */
export function prettyLine(json: string, hasColors: boolean): string {
  const { level, time, pid: _, msg, ...fields } = JSON.parse(json) as Readonly<Record<string, unknown>>
  const [name, color] = shown[level as keyof typeof shown] ?? ['', 'dim']
  const paint = (format: Parameters<typeof styleText>[0], text: string) =>
    hasColors && text !== '' ? styleText(format, text, { validateStream: false }) : text
  const stacks = Object.values(fields).flatMap(stackOf)
  const pairs = Object.entries(fields).map(([key, value]) => `${safe(key)}=${textOf(value)}`)
  const words = [
    paint('dim', timeOfDay(time)),
    paint(color, name.padEnd(5)),
    // Further lines are indented, so that none looks like a line of its own.
    typeof msg === 'string' ? msg.split('\n').map(safe).join('\n    ') : '',
    paint('dim', pairs.join(' ')),
  ]
  const line = words.filter((word) => word !== '').join(' ')
  return `${[line, ...stacks.map((text) => paint('dim', text))].join('\n')}\n`
}

function timeOfDay(time: unknown): string {
  return typeof time === 'number' ? new Date(time).toTimeString().slice(0, 8) : ''
}

/** A text without spaces stays bare, as in a shell. */
function textOf(value: unknown): string {
  const short = isStacked(value) ? { ...value, stack: undefined } : value
  if (typeof short === 'string' && /^[\w.:/@-]+$/.test(short)) return short
  const text = safe(JSON.stringify(short) ?? '')
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

function isStacked(value: unknown): value is { readonly stack: string } {
  return (
    typeof value === 'object' && value !== null && typeof (value as { stack?: unknown }).stack === 'string'
  )
}

function stackOf(value: unknown): string[] {
  if (!isStacked(value)) return []
  const lines = value.stack.split('\n').filter((line) => line.startsWith('    at '))
  return lines.map((line) => safe(line))
}

/** Shows a control character as its code: a terminal would obey it. */
function safe(text: string): string {
  return stripVTControlCharacters(text).replaceAll(
    /[\p{Cc}\p{Bidi_Control}]/gu,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
