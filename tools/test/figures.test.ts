import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { systems } from '../figures.ts'
import { bars } from '../packages/cost.ts'

const page = readFileSync(resolve(import.meta.dirname, '../../docs/compared.md'), 'utf8')
const table = /<!-- figures -->([^]*)<!-- \/figures -->/.exec(page)?.[1] ?? ''
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .slice(2)
  .map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  )

test('the figures of docs/compared.md are of every system, with its version, and say where they are from', () => {
  expect(table).toMatch(/^Measured on \d{4}-\d\d-\d\d with Node [\d.]+ on \w+ \w+ with \d+ cores/m)
  expect(rows.map(([name, , , , , beside]) => [name, beside])).toEqual(
    systems.map(({ name, beside }) => [name, beside]),
  )
  for (const row of rows) expect(row.slice(1, 5).join(' ')).toMatch(/^\d+\.\d+\.\d+ \d+\.\d \d+ \d+$/)
})

test('our own row is within the bars that the packages are held to', () => {
  const [, , megabytes, packages, importMs] = rows.find(([name]) => name === 'this runtime') ?? []
  expect(Number(megabytes)).toBeLessThanOrEqual(bars.megabytes)
  expect(Number(packages)).toBeLessThanOrEqual(bars.packages)
  expect(Number(importMs)).toBeLessThanOrEqual(bars.importMs)
})
