import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tests-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a skipped test is counted and named, on the terminal and in the report', () => {
  const { code, said, report } = run(`
    describe('a store', () => {
      test('opens', () => {})
      test.skipIf(true)('syncs', () => {})
      test('closes', (context) => context.skip('no disk'))
    })
    describe.skip('a group', () => test('within', () => {}))
    test.todo('later')`)
  expect(code).toBe(0)
  expect(report).toEqual({
    passed: 1,
    failed: 0,
    skipped: 4,
    skippedTests: ['a store > syncs', 'a store > closes', 'a group > within', 'later'].map((name) => ({
      file: expect.stringMatching(/some\.test\.ts$/),
      name,
    })),
    failedTests: [],
    cpu: [{ file: expect.stringMatching(/some\.test\.ts$/), seconds: expect.any(Number) }],
    ranTests: expect.any(Object),
  })
  const { ranTests } = report as { readonly ranTests: Readonly<Record<string, readonly string[]>> }
  expect(Object.entries(ranTests)).toEqual([[expect.stringMatching(/some\.test\.ts$/), ['a store > opens']]])
  expect(said).toMatch(/\nskipped: 4\n {2}\S*some\.test\.ts > a store > syncs\n/)
  expect(said).toMatch(/some\.test\.ts > later\n$/)
})

test('a file that takes more of the processors than is allowed fails the run, and is named', () => {
  const busy = `
    test('is busy', () => {
      while (process.cpuUsage().user < 1_500_000) Math.random()
    })`
  const { code, said, complaint } = start(busy, { TEST_CPU_SECONDS: '1' })
  expect(code).toBe(1)
  expect(said).toMatch(/\nprocessor time: [\d.]+ s in 1 files, most of it in\n/)
  expect(complaint).toMatch(/some\.test\.ts took [\d.]+ s of the processors, 1\.0 s are allowed/)
})

test('each test that failed is named with its first line at the end, and so is a file that does not load', () => {
  const failing = start(`
    describe('a store', () => test('opens', () => expect(1, 'it is shut').toBe(2)))
    test('closes', () => {})`)
  expect(failing.code).toBe(1)
  expect(failing.said).toMatch(/\nfailed: 1\n {2}\S*some\.test\.ts > a store > opens: it is shut: expected 1/)
  expect(start("import './not-there.ts'").said).toMatch(/\nfailed: 1\n {2}\S*some\.test\.ts: .*not-there/)
})

test('no test skipped is said as well', () => {
  const { said, report } = run("test('runs', () => {})")
  expect(said).toMatch(/\nskipped: 0\n$/)
  expect(report).toMatchObject({ skipped: 0, skippedTests: [] })
})

test('a test that was not asked for by name is not skipped', () => {
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

test.each([
  [['--turn', '2'], /^--turn is of a landing: give --landing with it\nusage: /],
  [['--landing', '--turn', '5'], /^--turn takes 0 to 3, not 5\nusage: /],
])('a turn that means nothing is refused: %j', (args, why) => {
  const { code, said, complaint } = start("test('runs', () => {})", {}, ...args)
  expect([code, said]).toEqual([2, ''])
  expect(complaint).toMatch(why)
})

function run(tests: string, ...args: string[]) {
  const { code, said, complaint, file } = start(tests, { TEST_CPU_SECONDS: '60' }, ...args)
  expect(complaint).toBe('')
  return { code, said, report: JSON.parse(readFileSync(file, 'utf8')) as unknown }
}

function start(tests: string, env: Readonly<Record<string, string>> = {}, ...args: string[]) {
  writeFileSync(join(folder, 'some.test.ts'), `import { describe, expect, test } from 'vitest'\n${tests}\n`)
  const file = join(folder, 'report.json')
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'tools/test.ts'), ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, TEST_REPORT: file, NO_COLOR: '1', ...env },
  })
  return { code: status, said: stdout, complaint: stderr, file }
}
