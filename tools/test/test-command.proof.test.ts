import { expect, test } from 'vitest'
import { run } from './test-command.test.ts'

test('no test skipped is said as well', () => {
  const { said, report } = run("test('runs', () => {})")
  expect(said).toMatch(/\nskipped: 0\n$/)
  expect(report).toMatchObject({ skipped: 0, skippedTests: [] })
})

test('what was not asked for by name is not skipped', () => {
  const { report, said } = run(
    `
    test('asked for', () => {})
    test.skip('asked for, not run', () => {})
    test('another', () => {})`,
    '--grep',
    'asked',
  )
  expect(report).toMatchObject({ passed: 1, skipped: 1, skippedTests: [{ name: 'asked for, not run' }] })
  expect(said).toContain('skipped: 1\n')
})
