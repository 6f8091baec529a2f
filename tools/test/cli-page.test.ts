import { expect, test } from 'vitest'
import { cliPage } from '../cli-page.ts'

test('docs/cli.md says what the help of the commands says', () => {
  const { now, right } = cliPage()
  expect(now).toBe(right)
})
