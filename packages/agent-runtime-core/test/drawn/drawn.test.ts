import { hash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { RuntimeError } from '../../src/error/errors.ts'
import { SeededRandom } from '../../src/testing/index.ts'
import { type Call, calls } from './calls.ts'

/** So many calls of a function are drawn, and so many of them are told one by one. */
const drawn = 80
const told = 5

const file = path.join(import.meta.dirname, 'answers.txt')
/** `RECORD=1` writes the file, `RECORD=FOLDER` one with every answer into that folder. */
const folder = process.env['RECORD']
const isWhole = folder !== undefined && folder !== '1'
const recorded = new Map(existsSync(file) ? blocksIn(readFileSync(file, 'utf8')) : [])
const answered = new Map<string, string>()

describe('functions that decide and word answer drawn data as they did when `pnpm transcripts` recorded it', () => {
  test.each(Object.entries(calls))('%s', (name, call) => {
    const text = answersOf(name, call)
    answered.set(name, text)
    expect(text).toBe(folder === undefined ? recorded.get(name) : text)
  })

  test('every answer is one of a function that there is', () => {
    const strays = [...recorded.keys()].filter((name) => !Object.hasOwn(calls, name))
    expect(folder === undefined ? strays : []).toEqual([])
  })
})

// Only what records has something to do at the end.
if (folder !== undefined)
  afterAll(() => {
    const text = [...answered].map(([name, lines]) => `# ${name}\n\n${lines}\n`).join('\n')
    writeFileSync(isWhole ? path.join(folder, path.basename(file)) : file, text)
  })

function answersOf(name: string, { call, given }: Call): string {
  const random = new SeededRandom(name)
  const lines = Array.from({ length: drawn }, () => {
    const values = given.map((draw) => draw(random))
    const asked = values.map(textOf).join(', ')
    return `${asked}\n  ${answerOf(call, values)}`
  })
  if (isWhole) return lines.join('\n')
  const first = [...new Set(lines)].filter((line) => line.length < 300).slice(0, told)
  return [...first, `${drawn} answers #${hash('sha1', lines.join('\n'), 'hex').slice(0, 8)}`].join('\n')
}

function answerOf(call: Call['call'], values: readonly unknown[]): string {
  try {
    return textOf(call(...(values as never[])))
  } catch (error) {
    // The engine words its own errors as it likes.
    return error instanceof RuntimeError ? `throws ${error.code}: ${error.message}` : 'throws'
  }
}

function textOf(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner: unknown) => (inner instanceof Map ? [...inner] : inner)) ?? 'undefined'
  )
}

function blocksIn(text: string): readonly (readonly [name: string, lines: string])[] {
  return text.split(/^# /m).flatMap((block) => {
    const [name = '', ...lines] = block.trimEnd().split('\n')
    return name === '' ? [] : [[name, lines.slice(1).join('\n')] as const]
  })
}
