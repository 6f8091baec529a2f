import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verifyStore } from '@ku0/agent-runtime-persistence'
import Database from 'better-sqlite3'
import { afterAll, describe, expect, test } from 'vitest'
import type { Verification } from '@ku0/agent-runtime-persistence'
import { cliExitCodes } from '../src/index.ts'
import { edit, run, runIn, storeOf } from './stores-and-shells.ts'

describe('agent-runtime verify', () => {
  test('a check of a sound store says so, and exits with 0', async () => {
    const path = await storeOf(3)
    const { code, out, err } = await run('verify', path)
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(
      /^.*it\.db: well\n {2}tasks 3, events 3, commits 3\n {2}last good commit: 3 of 20.*Z\n {2}anchor: commit 3\n$/,
    )
    expect(await run('verify', `sqlite:${path}`)).toMatchObject({ code: 0 })
  })

  test('H08 a check of a damaged store lists the faults and the last good commit, and exits with 65', async () => {
    const path = await storeOf(3)
    edit(path)
    const { code, out } = await run('verify', path)
    expect(code).toBe(cliExitCodes.damaged)
    expect(out).toMatch(
      /it\.db: damaged, 1 fault\n {2}event: task \d, event 1: expected hash \w{12}, found hash \w{12}\n/,
    )
    const { code: same, out: json } = await run('verify', '--json', path)
    expect(same).toBe(code)
    expect(JSON.parse(json)).toEqual(await verifyStore(`sqlite:${path}`))
  })

  test('D05 a check of a store that lost commits does so, too', async () => {
    const path = await storeOf(2)
    copyFileSync(path, `${path}.older`)
    await storeOf(1, path)
    copyFileSync(`${path}.older`, path)
    const { code, out } = await run('verify', path)
    expect(code).toBe(cliExitCodes.damaged)
    expect(out).toContain('anchor: commit 3: expected commit 3, found commit 2')
    expect(out).toContain('last good commit: 2 of')
  })

  test('tells as many faults as it is asked for', async () => {
    const path = await storeOf(3)
    const content = readFileSync(path)
    for (let at = content.indexOf('"type":"work"'); at > 0; at = content.indexOf('"type":"work"', at + 1))
      content.write('"type":"worx"', at)
    writeFileSync(path, content)
    const { out } = await run('verify', path, '--max-faults', '1')
    expect(out).toMatch(/damaged, 3 faults\n {2}event:.*\n {2}and 2 more\n/)
  })

  test('reads what is new after the seal in a file, and writes the next one there', async () => {
    const path = await storeOf(3)
    const seal = `${path}.seal.json`
    const first = await run('verify', path, '--seal', seal)
    expect(first.out).toContain('tasks 3,')
    await storeOf(1, path)
    const second = await run('verify', path, '--seal', seal)
    expect(second.code).toBe(cliExitCodes.ok)
    expect(second.out).toMatch(/tasks 1, .*\n {2}read: all after commit \d+, which .*seal.json seals\n/)
    const kept = readFileSync(seal, 'utf8')
    const report = JSON.parse((await run('verify', path, '--seal', seal, '--json')).out) as Verification
    expect(report).toMatchObject({ ok: true, tasks: 0, seal: JSON.parse(kept) as unknown })
  })

  test('keeps the seal when something is wrong, and refuses a file that is none', async () => {
    const path = await storeOf(2)
    const seal = `${path}.seal.json`
    await run('verify', path, '--seal', seal)
    const kept = readFileSync(seal, 'utf8')
    new Database(path).exec('UPDATE totals SET running = 7').close()
    expect((await run('verify', path, '--seal', seal)).code).toBe(cliExitCodes.damaged)
    expect(readFileSync(seal, 'utf8')).toBe(kept)
    for (const text of ['no JSON', '{}', '[]', '{"storeId":"x","commit":-1,"hash":"y"}']) {
      writeFileSync(seal, text)
      const { code, err } = await run('verify', path, '--seal', seal)
      expect([code, err]).toEqual([cliExitCodes.usage, expect.stringContaining('seal')])
    }
    const nowhere = join(path, 'nowhere', 'seal.json')
    const { err } = await run('verify', await storeOf(1), '--seal', nowhere)
    expect(err).toContain(`the seal cannot be written to ${nowhere}`)
  })

  test('X10 lets no control character of a store through', async () => {
    const path = await storeOf(1)
    new Database(path).exec("UPDATE stream SET key = key || char(27) || '[2J' || char(10)").close()
    const { out } = await run('verify', path)
    expect(out).toContain(String.raw`\u001b[2J\u000a`)
    expect(out).not.toContain('\u001b')
  })
})

test('a command that reads a whole store says so at a terminal before it begins', async () => {
  const path = await storeOf(1)
  const tasks = join(import.meta.dirname, 'project/tasks.ts')
  const calls = [
    ['verify', path],
    ['backup', path, `${path}.copy`],
    ['deploy-check', '--store', path, '--tasks', tasks],
    ['cancel', '--state', 'queued', '--store', path],
  ]
  for (const args of calls)
    expect((await runIn({ isTerminal: true }, ...args)).err).toMatch(
      /^(?:reads|copies|replays|counts) [^\n]*\n$/,
    )
  expect((await run('verify', path)).err).toBe('')
  expect((await runIn({ isTerminal: true }, 'verify', path, '--json')).err).toBe('')
})

test.each([0, 50, 4_096, 50_000])('a file that was cut to %d bytes has a report, too', async (size) => {
  const path = await storeOf(3)
  truncateSync(path, size)
  const { code, out, err } = await run('verify', path)
  expect([code, err]).toEqual([cliExitCodes.damaged, ''])
  expect(out).toMatch(/: damaged, \d+ faults?\n {2}file: the /)
  expect(out).toMatch(
    /\n {2}what to do: stop every process on it, keep a copy of its files, and restore a backup/,
  )
  const { faults, faultCount, ...report } = JSON.parse(
    (await run('verify', path, '--json')).out,
  ) as Verification
  expect(report).toMatchObject({ ok: false, remedy: expect.stringContaining('restore a backup') as string })
  expect(faults.length).toBe(faultCount)
})

test('a command that cannot read a file names the one that reports what is left', async () => {
  const path = await storeOf(3)
  truncateSync(path, 50_000)
  expect((await run('list', '--store', path)).err).toMatch(/; agent-runtime verify shows what is left\n$/)
})

describe('agent-runtime doctor', () => {
  test('tells how a store is set up', async () => {
    const path = await storeOf(2)
    for (const suffix of ['', '-anchor']) chmodSync(path + suffix, 0o600)
    const { code, out } = await run('doctor', path)
    expect(code).toBe(0)
    expect(out).toContain(
      'journal mode wal; synchronous 2 with durability full, 1 with normal; last writer full',
    )
    expect(out).toMatch(/it\.db: \d+ KiB, mode 600\n/)
    expect(out).toContain('tasks 2, 0 running, 0 waiting; commits 2, anchor 2')
    const report = JSON.parse((await run('doctor', path, '--json')).out) as { ok: boolean; problems: unknown }
    expect(report).toMatchObject({ ok: true, problems: [] })
  })

  test('exits with 65 where what was promised does not hold', async () => {
    const path = await storeOf(2)
    await storeOf(1, `${path}.other`)
    copyFileSync(`${path}.other`, path)
    const { code, out } = await run('doctor', path)
    expect(code).toBe(cliExitCodes.damaged)
    expect(out).toMatch(/error: .*it\.db is not the store that was here/)
  })

  test('a check of an anchor that cannot be read does not say that there is none, nor does verify', async () => {
    const path = await storeOf(2)
    const told = async () => [(await run('doctor', path)).out, (await run('verify', path)).out]
    writeFileSync(`${path}-anchor`, 'x')
    const [doctor, verify] = await told()
    expect(doctor).toContain('commits 2, anchor damaged\n')
    expect(verify).toContain('anchor: damaged\n')
    rmSync(`${path}-anchor`)
    const [without, alike] = await told()
    expect(without).toContain('commits 2, anchor none\n')
    expect(alike).toContain('anchor: none\n')
  })
})

describe('agent-runtime import', () => {
  test('takes a file and an empty store on PostgreSQL, and nothing else', async () => {
    const path = await storeOf(2)
    const wrong = await run('import', path, 'sqlite:other.db')
    expect([wrong.code, wrong.err]).toEqual([
      2,
      expect.stringContaining('is no store on PostgreSQL') as string,
    ])
  })
})

describe('agent-runtime backup', () => {
  test('makes a copy that verifies', async () => {
    const path = await storeOf(2)
    const copy = `${path}.copy`
    const { code, out } = await run('backup', path, copy)
    expect([code, out.split('\n')[0]]).toEqual([
      0,
      expect.stringMatching(/copy: a copy that verifies, \d+ KiB/),
    ])
    expect(await run('verify', copy)).toMatchObject({ code: 0 })
    const again = await run('backup', path, copy)
    expect(again).toMatchObject({ code: cliExitCodes.cannotCreate, out: '' })
    expect(again.err).toMatch(/^agent-runtime: .*copy exists; a backup never replaces a file\n$/)
  })

  test('has no name that ends in white space, as no store has', async () => {
    const path = await storeOf(1)
    expect(await run('backup', path, `${path}.copy `)).toEqual({
      code: cliExitCodes.usage,
      out: '',
      err: expect.stringContaining(`must not end in white space; given "${path}.copy "`) as string,
    })
    expect(existsSync(`${path}.copy `)).toBe(false)
  })
})

describe('the errors of a command (docs/reliability.md G12)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cli-wrong-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'it.db')
  const cases: readonly [string, readonly string[], number, RegExp][] = [
    ['no command', [], 2, /^agent-runtime: no command given; see agent-runtime --help\n$/],
    [
      'an unknown one',
      ['verfy', path],
      2,
      /^agent-runtime: unknown command 'verfy', did you mean verify\? See agent-runtime --help\n$/,
    ],
    [
      'one of another program',
      ['tasks'],
      2,
      /^agent-runtime: unknown command 'tasks', did you mean list\? See agent-runtime --help\n$/,
    ],
    [
      'one of another program that resembles one of this',
      ['run'],
      2,
      /^agent-runtime: unknown command 'run', did you mean worker\? See agent-runtime --help\n$/,
    ],
    [
      'a word that is none of a few',
      ['worker', '--mode', 'demon'],
      2,
      /argument 'demon' is invalid; allowed: daemon, job, hybrid; did you mean daemon\? See agent-runtime worker --help\n$/,
    ],
    [
      'a state that is none',
      ['list', '--state', 'faild'],
      2,
      /argument 'faild' is invalid; allowed: queued, .*, rejected; did you mean failed instead of faild\? See/,
    ],
    [
      'no file',
      ['backup', path],
      2,
      /^agent-runtime: missing required argument 'file'; see agent-runtime backup --help\n$/,
    ],
    [
      'an unknown option of a command below another',
      ['approvals', 'approve', 'x', '--form'],
      2,
      /^agent-runtime: unknown option '--form'[^\n]* agent-runtime approvals approve --help\n$/,
    ],
    ['a depth that is none', ['tree', 'x', '--depth', 'deep'], 2, /whole number from 0 to 100/],
    ['a shell that is none', ['completion', 'constructor'], 2, /scripts for bash, zsh and fish/],
    ['too much', ['verify', path, path], 2, /^agent-runtime: too many arguments for 'verify'/],
    [
      'an unknown option',
      ['verify', path, '--deep'],
      2,
      /^agent-runtime: unknown option '--deep', did you mean --help\? See/,
    ],
    [
      'a command below another that is misspelt',
      ['approvals', 'aprove', 'x', '--value', '1'],
      2,
      /^agent-runtime: approvals has no command 'aprove', did you mean approvals approve\? See/,
    ],
    [
      'a command below another that is none',
      ['budgets', 'spend'],
      2,
      /^agent-runtime: budgets has no command 'spend': it has show, continue, stop; see/,
    ],
    [
      'a command without the one above it',
      ['approve', 'x'],
      2,
      /^agent-runtime: unknown command 'approve', did you mean approvals approve\? See/,
    ],
    ['a misspelt option', ['verify', path, '--max-fault=1'], 2, /did you mean --max-faults\? See/],
    ['a number that is none', ['verify', path, '--max-faults', 'many'], 2, /whole number from 1 to 10000/],
    ['a URL that is none', ['verify', 'mysql://x'], 2, /unknown store "mysql:\/\/x"/],
    ['a store in memory', ['doctor', 'sqlite::memory:'], 2, /in memory/],
    ['a missing store', ['verify', path], 66, /^agent-runtime: there is no store at .*it\.db\n$/],
    ['a text', ['doctor', import.meta.filename], 65, /is not a SQLite database/],
    [
      'no folder for a copy',
      ['backup', path, join(folder, 'no', 'x.db')],
      73,
      /does not exist; create the folder/,
    ],
  ]
  test.each(cases)('is said in one line, with its code: %s', async (_, args, code, message) => {
    const found = await run(...args)
    expect(found).toEqual({ code, out: '', err: expect.stringMatching(message) as string })
    expect(found.err.trimEnd()).not.toContain('\n')
    const json = await run(...args, '--json')
    expect(json.code).toBe(code)
    expect(JSON.parse(json.err)).toMatchObject({ error: { message: expect.any(String) as string } })
    expect(json.err).not.toContain('"stack"')
    expect(existsSync(path)).toBe(false)
  })
})
