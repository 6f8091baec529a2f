import { expect, test } from 'vitest'
import { evidenceOf, scoresOf, shortfalls } from '../stryker/scores.ts'

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
  const page = evidenceOf(scores, { commit: 'abc', minutes: 3, machine: 'one' })
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
