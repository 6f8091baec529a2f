import { expect, test } from 'vitest'
import { evidenceOf, kept, scoresOf, shortfalls } from '../stryker/scores.ts'

const mutant = (status: string, line = 1) => ({
  mutatorName: 'EqualityOperator',
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

test('of several runs each file counts as in its last one', () => {
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

test('what was noticed counts, what cannot be told does not, and what nobody noticed is named', () => {
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
      unnoticed: ['3: EqualityOperator, `a \\| b`', '4: EqualityOperator, `a \\| b`'],
    },
  ])
  const page = evidenceOf(of('abc', scores))
  expect(page).toContain('| noticed  | 2: 50.0 % |')
  expect(page).toContain('- decide/order.ts:3: EqualityOperator')
})

test('too few changes that are noticed are said, and each that nobody notices where all have to be', () => {
  const killed = Array.from({ length: 20 }, () => 'Killed')
  const scores = (...files: readonly ReturnType<typeof reported>[]) =>
    scoresOf({ files: Object.assign({}, ...files) }, folder)
  expect(shortfalls(scores(reported('lane.ts', ...killed, 'Survived')))).toEqual([])
  expect(shortfalls(scores(reported('lane.ts', 'Killed', 'Survived')))).toEqual([
    '50.0 % of the changes are noticed, 85 % have to be',
  ])
  expect(shortfalls(scores(reported('states.ts', ...killed, 'Survived')))).toEqual([
    'nobody notices states.ts:21: EqualityOperator, `a \\| b`',
  ])
})
