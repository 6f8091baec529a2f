import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { catalogueTables } from './catalogue-tables.ts'

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')

test.each(Object.entries(catalogueTables()))('the README lists the %s of the catalogue', (name, rows) => {
  expect(tableOf(name)).toEqual(rows)
})

/** The cells of the table after `<!-- catalogue: name -->`, however they are padded. */
function tableOf(name: string): string[][] {
  const [, text = ''] = readme.split(`<!-- catalogue: ${name} -->`)
  const lines = text.trimStart().split('\n')
  const rows = lines.slice(0, lines.indexOf('')).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  return rows.filter((_row, index) => index !== 1)
}
