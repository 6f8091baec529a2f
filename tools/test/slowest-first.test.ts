import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { slow } from '../slowest-first.ts'

test('every file that is known to be slow is there, once', () => {
  const workspace = resolve(import.meta.dirname, '../..')
  expect(slow.filter((file) => !existsSync(resolve(workspace, file)))).toEqual([])
  expect(new Set(slow).size).toBe(slow.length)
})
