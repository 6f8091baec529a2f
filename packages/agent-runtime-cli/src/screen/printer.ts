import { styleText } from 'node:util'
import type { Outlet } from '../outlet.ts'
import { toJson } from './json.ts'
import { plain } from './plain.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** A part of a line. */
export type Piece = string | { readonly text: string; readonly style: Style | readonly Style[] }
export type Line = Piece | readonly Piece[]

/** Says what a command has to say: to people as lines, to programs as JSON. */
export class Printer {
  readonly isJson: boolean
  readonly #outlet: Outlet
  readonly #hasColor: boolean

  constructor(outlet: Outlet, isJson: boolean) {
    const variables = outlet.variables ?? process.env
    this.isJson = isJson
    this.#outlet = outlet
    this.#hasColor = (outlet.isTerminal ?? false) && !variables['NO_COLOR'] && variables['TERM'] !== 'dumb'
  }

  /** The answer: one JSON document, or lines. */
  answer(report: unknown, lines: () => readonly Line[]): void {
    if (this.isJson) this.#outlet.out(`${toJson(report)}\n`)
    else this.lines(lines())
  }

  /** One of many, as they come: a line of NDJSON, or a line of text. */
  item(report: unknown, line: () => Line): void {
    if (this.isJson) this.#outlet.out(`${toJson(report)}\n`)
    else this.lines([line()])
  }

  /** Lines on standard output, whatever the form. */
  lines(lines: readonly Line[]): void {
    this.#outlet.out(lines.map((line) => `${this.#text(line)}\n`).join(''))
  }

  /** A text on standard output as it is, except its control characters; newlines stay. */
  text(text: string): void {
    this.#outlet.out(text.split('\n').map(plain).join('\n'))
  }

  /** Something beside the answer: a line on standard error, unless programs read. */
  note(text: string): void {
    if (!this.isJson) this.#outlet.err(`${plain(text)}\n`)
  }

  /** Says at once what takes long, to a person who waits for it at a terminal. */
  patience(text: string): void {
    if (this.#outlet.isTerminal === true) this.note(text)
  }

  /** Takes the place of what the terminal shows; elsewhere it follows. */
  screen(report: unknown, lines: () => readonly Line[]): void {
    if (!this.isJson && this.#outlet.isTerminal) this.#outlet.out('\u001b[H\u001b[2J')
    this.answer(report, lines)
  }

  #text(line: Line): string {
    if (Array.isArray(line))
      return (line as readonly Piece[])
        .map((piece) => this.#piece(piece))
        .join('')
        .trimEnd()
    return this.#piece(line as Piece)
  }

  #piece(piece: Piece): string {
    if (typeof piece === 'string') return plain(piece)
    const text = plain(piece.text)
    return this.#hasColor ? styleText(piece.style, text, { validateStream: false }) : text
  }
}
