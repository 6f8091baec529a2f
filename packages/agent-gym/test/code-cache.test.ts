import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { CodeCache } from '../src/host/code-cache.ts'

test('compiled code is kept where the environment says, and otherwise goes with the run', () => {
  const given = mkdtempSync(join(tmpdir(), 'given-code-'))
  onTestFinished(() => rmSync(given, { recursive: true, force: true }))
  const folders: string[] = []
  for (const place of [given, undefined]) {
    using cache = new CodeCache(place)
    folders.push(cache.folder)
    expect(existsSync(cache.folder)).toBe(true)
  }
  expect(folders[0]).toBe(given)
  expect(folders.map((folder) => existsSync(folder))).toEqual([true, false])
})
