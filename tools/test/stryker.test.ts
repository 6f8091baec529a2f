import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import {
  evidenceOf,
  kept,
  percentOf,
  scoresOf,
  shortfalls,
  unmeasuredOf,
  type KeptScore,
} from '../stryker/scores.ts'

const mutant = (status: string, line = 1, mutatorName = 'BooleanLiteral') => ({
  mutatorName,
  replacement: 'a | b',
  status,
  location: { start: { line } },
})
const folder = 'packages/core/src'
const reported = (file: string, ...statuses: readonly string[]) => ({
  [`/somewhere/${folder}/${file}`]: { mutants: statuses.map((status, index) => mutant(status, index + 1)) },
})

const of = (commit: string, scores: ReturnType<typeof scoresOf>) =>
  scores.map((score) => ({ ...score, commit, date: '2026-01-01', machine: 'one' }))

test('each file counts as in the last of several runs', () => {
  const files = (...all: readonly ReturnType<typeof reported>[]) =>
    scoresOf({ files: Object.assign({}, ...all) }, folder)
  const first = of('a', files(reported('b.ts', 'Survived'), reported('a.ts', 'Killed')))
  const second = of('b', files(reported('c.ts', 'Killed'), reported('b.ts', 'Killed')))
  const all = kept(first, second)
  expect(all.map(({ file, commit, unnoticed }) => [file, commit, unnoticed.length])).toEqual([
    ['a.ts', 'a', 0],
    ['b.ts', 'b', 0],
    ['c.ts', 'b', 0],
  ])
  expect(evidenceOf(all)).toContain('| noticed  | 3: 100.0 % |')
})

test('a file of which nothing counted in its last run has no score any more', () => {
  const files = (...all: readonly ReturnType<typeof reported>[]) =>
    scoresOf({ files: Object.assign({}, ...all) }, folder)
  const first = of('a', files(reported('a.ts', 'Killed'), reported('b.ts', 'Survived')))
  const second = of('b', files(reported('b.ts', 'Ignored')))
  expect(kept(first, second).map(({ file }) => file)).toEqual(['a.ts'])
})

test('a noticed change counts, an undecidable one does not, and an unnoticed one is named', () => {
  const files = reported(
    'decide/order.ts',
    'Killed',
    'Timeout',
    'Survived',
    'NoCoverage',
    'Ignored',
    'CompileError',
  )
  const scores = scoresOf({ files: { ...files, ...reported('index.ts', 'Ignored') } }, folder)
  expect(scores).toEqual([
    {
      file: 'decide/order.ts',
      noticed: 2,
      unnoticed: ['3: BooleanLiteral, `a \\| b`', '4: BooleanLiteral, `a \\| b`'],
    },
    { file: 'index.ts', noticed: 0, unnoticed: [] },
  ])
  const page = evidenceOf(of('abc', scores))
  expect(page).toContain('| noticed  | 2: 50.0 % |')
  expect(page).toContain('- decide/order.ts:3: BooleanLiteral')
})

test('too few changes that are noticed are said, and each that nobody notices where all have to be', () => {
  const killed = Array.from({ length: 20 }, () => 'Killed')
  const scores = (...files: readonly ReturnType<typeof reported>[]) =>
    scoresOf({ files: Object.assign({}, ...files) }, folder)
  expect(shortfalls(scores(reported('lane.ts', ...killed, 'Survived')))).toEqual([])
  expect(shortfalls(scores(reported('lane.ts', 'Killed', 'Survived')))).toEqual([
    '50.0 % of the changes are noticed, 85 % have to be',
  ])
  expect(shortfalls(scores(reported('task/states.ts', ...killed, 'Survived')))).toEqual([
    'nobody notices task/states.ts:21: BooleanLiteral, `a \\| b`',
  ])
})

test('a change to a comparison that nobody notices is said, unless it is known to be the same; one that is not there is not known', () => {
  const killed = Array.from({ length: 20 }, () => mutant('Killed'))
  const scores = scoresOf(
    { files: { [`${folder}/lane.ts`]: { mutants: [...killed, mutant('Survived', 7, 'EqualityOperator')] } } },
    folder,
  )
  expect(shortfalls(scores, {})).toEqual(['nobody notices lane.ts:7: EqualityOperator, `a \\| b`'])
  const known = { 'lane.ts': { 'a \\| b': 'they are never equal' }, 'other.ts': { 'a < b': 'nor are they' } }
  expect(shortfalls(scores, known)).toEqual([])
  expect(evidenceOf(of('abc', scores), known)).toContain('| lane.ts | `a \\| b` | they are never equal |')
  const two = { 'lane.ts': { ...known['lane.ts'], 'c <= d': 'they are always equal' } }
  expect(shortfalls(scores, two)).toEqual([
    'lane.ts: `c <= d` is noticed, or is no more: take it from the list of those that cannot be',
  ])
})

test('the results of the last long runs fall short of nothing, and are of files that there are', () => {
  const root = path.join(import.meta.dirname, '../..')
  const last = JSON.parse(
    readFileSync(path.join(root, 'docs/evidence/stryker.json'), 'utf8'),
  ) as readonly KeptScore[]
  expect(last.length).toBeGreaterThan(90)
  expect(shortfalls(last)).toEqual([])
  expect(percentOf(last)).toBeGreaterThanOrEqual(96)
  const sources = path.join(root, 'packages/agent-runtime-core/src')
  expect(last.map(({ file }) => file).filter((file) => !existsSync(path.join(sources, file)))).toEqual([])
})

test('a file with functions and without a score is not measured, and the page says so', () => {
  const texts = new Map([
    ['a.ts', 'export function a() {}'],
    ['b.ts', 'export const b = (c: number) => c'],
    ['port.ts', 'export interface Port { a: (b: number) => void }\nexport const max = 1'],
    ['c.ts', 'function c() {}'],
  ])
  const scores = scoresOf({ files: reported('a.ts', 'Killed') }, folder)
  const unmeasured = unmeasuredOf(texts, scores)
  expect(unmeasured).toEqual(['b.ts', 'c.ts'])
  const page = evidenceOf(of('abc', scores), undefined, unmeasured)
  expect(page).toContain('| files with functions that no run has changed | 2 |')
  expect(page).toMatch(/## Not measured\n\n- b\.ts\n- c\.ts\n$/)
  expect(evidenceOf(of('abc', scores))).not.toContain('## Not measured')
})
