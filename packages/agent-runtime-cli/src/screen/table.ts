import { plain } from './plain.ts'
import type { Line, Piece, Style } from './printer.ts'

/** Rows below a head, in columns as wide as their widest cell. Columns that are empty in all rows are left out. */
export function table(head: readonly string[], rows: readonly (readonly Piece[])[]): readonly Line[] {
  const kept = head.map((_, at) => at).filter((at) => rows.some((row) => textOf(row[at] ?? '') !== ''))
  const widths = kept.map((at) =>
    Math.max(...[head, ...rows].map((row) => plain(textOf(row[at] ?? '')).length)),
  )
  const line = (row: readonly Piece[], style?: Style): readonly Piece[] =>
    kept.flatMap((at, column) => {
      const piece = row[at] ?? ''
      const cell = style === undefined ? piece : { text: textOf(piece), style }
      const gap = ' '.repeat((widths[column] as number) - plain(textOf(piece)).length + 2)
      return column === kept.length - 1 ? [cell] : [cell, gap]
    })
  return [line(head, 'dim'), ...rows.map((row) => line(row))]
}

/** Names and values, below each other. */
export function pairs(rows: readonly (readonly [string, Piece | undefined])[]): readonly Line[] {
  const known = rows.filter(([, value]) => value !== undefined && textOf(value) !== '')
  const width = Math.max(0, ...known.map(([name]) => name.length))
  return known.map(([name, value]) => [{ text: name.padEnd(width + 2), style: 'dim' }, value as Piece])
}

function textOf(piece: Piece): string {
  return typeof piece === 'string' ? piece : piece.text
}
