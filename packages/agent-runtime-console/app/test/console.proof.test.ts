import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { testActions } from './actions.ts'
import { build, launch } from './browser.ts'
import { testPages } from './pages.ts'
import { testTrouble } from './trouble.ts'

// One file: two at once would build into the same folder.
let browser: Browser
beforeAll(async () => {
  build()
  browser = await launch()
}, 300_000)
afterAll(() => browser.close())

test('the sources of the pages compile, with the types of what only they use', () => {
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
  const compiler = resolve(typescript, 'bin/tsc')
  // It reads the declarations of the packages, which it writes first where they are not up to date.
  execFileSync(process.execPath, [compiler, '-b', resolve(import.meta.dirname, '..')], { stdio: 'inherit' })
})

describe('pages', () => {
  testPages(() => browser)
})
describe('actions', () => {
  testActions(() => browser)
})
describe('trouble', () => {
  testTrouble(() => browser)
})
