// The pages that people read, as the tests of documents look at them.
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'vitest'

export const root = resolve(import.meta.dirname, '../..')
export const sources = globSync('packages/*/src/**/*.ts', { cwd: root }).toSorted()

/** The cells of the table behind `<!-- table: NAME -->` in a page, without its head. */
export function table(name: string, page = 'docs/operating.md'): string[][] {
  const [, after = ''] = read(page).split(`<!-- table: ${name} -->\n`)
  const rows = after.trimStart().split('\n\n')[0]?.split('\n').slice(2) ?? []
  expect(rows, `${page} has a table ${name}`).not.toEqual([])
  return rows.map((row) =>
    row
      .replaceAll(/^\|\s*|\s*\|$/g, '')
      .split(/\s*\|\s*/)
      .map((cell) => cell.trim()),
  )
}

/** The anchor that a heading has on a page. */
export function anchor(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

const texts = new Map<string, string>()

export function read(file: string): string {
  const known = texts.get(file)
  if (known !== undefined) return known
  const text = readFileSync(join(root, file), 'utf8')
  texts.set(file, text)
  return text
}
