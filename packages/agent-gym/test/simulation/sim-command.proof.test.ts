import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { simCommand } from '../../src/cli/sim-command.ts'

const sim = (...args: readonly string[]) => simUntil(new AbortController().signal, ...args)

async function simUntil(signal: AbortSignal, ...args: readonly string[]) {
  let [out, err] = ['', '']
  const code = await simCommand(
    args,
    {
      out: { write: (text: string) => (out += text) },
      err: { write: (text: string) => (err += text) },
    },
    signal,
  )
  return { code, out, err }
}

const timeout = 300_000

describe('pnpm sim', () => {
  test(
    '--seed plays one life, and prints what happened in it and the hash of that',
    { timeout },
    async () => {
      const [first, again] = [await sim('--seed', '5', '--no-trace'), await sim('--', '--seed', '5')]
      expect([first.code, again.code]).toEqual([0, 0])
      expect(first.out).toMatch(/^seed 5 \(.+\): every rule held, \d+ ms, trace [0-9a-f]{16}\nsubmissions /)
      expect(again.out.endsWith(first.out)).toBe(true)
      expect(again.out).toMatch(/ {5}0\.000 {2}life {6}seed 5/)
    },
  )

  test('a rule that is broken is named, with how to see it again, and fails', { timeout }, async () => {
    const { code, out } = await sim('--seed', '1', '--plant', 'a cancel that is lost')
    expect(code).toBe(1)
    expect(out).toMatch(/BROKEN[^]+ms {2}I18 {2}the cancel of task/)
    expect(out).toContain('again: pnpm sim --seed 1')
  })

  test(
    '--plain plays a life without measured work, and says so in how to see it again',
    { timeout },
    async () => {
      const plain = await sim('--seed', '2', '--plain')
      expect(plain.out).toContain('held leases 0, agents 0')
      expect((await sim('--seed', '2')).out).not.toContain('held leases 0')
      const { out } = await sim('--seed', '1', '--plain', '--plant', 'a cancel that is lost')
      expect(out).toContain("again: pnpm sim --seed 1 --plain --plant 'a cancel that is lost'")
    },
  )

  test('--no-structures plays a life without supervisors, pipelines and ledgers', { timeout }, async () => {
    const { out } = await sim('--seed', '4', '--no-structures', '--no-trace')
    expect(out).toMatch(/supervised restarts 0, escalations 0, started anew 0, streams 0, .+ entries 0/)
    expect((await sim('--seed', '4', '--no-trace')).out).not.toContain(' entries 0')
    expect((await sim('--seeds', '1..2', '--no-structures')).err).toContain('are for one seed: add --seed N')
  })

  test('--seeds plays a range, and says what happened', { timeout }, async () => {
    const { code, out } = await sim('--seeds', '4..6', '--threads', '2')
    expect(code).toBe(0)
    expect(out).toMatch(/^3 seeds \(\d to the end, \d under faults throughout\), 0 broken/)
    expect(out).toMatch(/claims [1-9]/)
  })

  test(
    'a range that is interrupted ends with what was played of it, and is not what was asked for',
    { timeout },
    async () => {
      const { code, out, err } = await simUntil(
        AbortSignal.timeout(1),
        '--seeds',
        '1..4000',
        '--threads',
        '1',
      )
      expect(code).toBe(130)
      expect(out).toMatch(/^1 seeds \(/)
      expect(err).toBe(
        'plays seeds 1 to 4000 on 1 threads\ninterrupted: it ends after the seeds that are under way\nended early, after seed 1\n',
      )
    },
  )

  test('a range that is interrupted before it begins plays nothing, and keeps nothing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ku0-kept-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'runs.json')
    const { code, out } = await simUntil(AbortSignal.abort(), '--seeds', '1..4000', '--keep', file)
    expect(code).toBe(130)
    expect(out).toMatch(/^0 seeds \(/)
    expect(existsSync(file)).toBe(false)
  })

  test(
    'a range that two signals end keeps what was played: a package manager hands on what a terminal tells all',
    { timeout },
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'ku0-kept-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const file = join(folder, 'runs.json')
      const bin = fileURLToPath(new URL('../../bin/sim.mjs', import.meta.url))
      const args = [bin, '--seeds', '1..4000', '--threads', '1', '--keep', file]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
      const ended = once(child, 'exit')
      let heard = ''
      const hears = async (text: string) => {
        for await (const chunk of child.stderr.iterator({ destroyOnReturn: false })) {
          heard += String(chunk)
          if (heard.includes(text)) return
        }
      }
      await hears('plays seeds')
      child.kill('SIGINT')
      await hears('interrupted')
      child.kill('SIGINT')
      await hears('ended early')
      expect(await ended).toEqual([130, null])
      const last = Number(/ended early, after seed (\d+)/.exec(heard)?.[1])
      expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject([{ first: 1, last }])
    },
  )

  test('--evidence makes a page of it', { timeout }, async () => {
    const { code, out } = await sim('--seeds', '4..4', '--evidence')
    expect(code).toBe(0)
    expect(out).toMatch(
      /^# Evidence: the simulation\n[^]+\| seeds \| 1 \|\n\| broken \| none \|[^]+\| 4 to 4 \| none \|/,
    )
  })

  test('--keep adds a range to those before it, and the page is of all of them', { timeout }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ku0-kept-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'runs.json')
    await sim('--seeds', '5..5', '--keep', file)
    const { code, out } = await sim('--seeds', '4..4', '--keep', file, '--evidence')
    expect(code).toBe(0)
    expect(out).toMatch(/\| seeds \| 2 \|[^]+\| 4 to 4 \| none \|[^]+\| 5 to 5 \| none \|/)
    const again = await sim('--seeds', '5..6', '--keep', file)
    expect([again.code, again.out]).toEqual([2, ''])
    expect(again.err).toContain('holds the seeds 5 to 5 already')
  })

  test('--keep takes no file that holds something else', { timeout }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ku0-kept-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'notes.json')
    writeFileSync(file, '{"notes":[]}')
    const { code, err } = await sim('--seeds', '4..4', '--keep', file)
    expect(code).toBe(2)
    expect(err).toContain(`--keep: ${file} holds no runs of the simulation`)
    expect(readFileSync(file, 'utf8')).toBe('{"notes":[]}')
  })

  test.each([
    [['--seed', '0'], 'a whole number from 1 on'],
    [['--seeds', '9..2'], 'two seeds with two dots between them'],
    [['--seed', '1', '--seeds', '1..2'], 'one seed, or a range'],
    [['--no-trace'], 'add --seed N'],
    [['--seed', '1', '--trace'], 'unknown option'],
    [['--seed', '1', '--plant', 'a cancel that is los'], 'did you mean "a cancel that is lost"?'],
    [['--seed', '1', '--plant', 'constructor'], "--plant: no bug 'constructor'"],
    [['--plain'], 'add --seed N'],
    [['--seeds', '4..4', '--keep', '/no/such/folder/runs.json'], 'cannot be written'],
    [['--sed', '1'], 'unknown option'],
  ])('%j is refused, saying why', async (args, why) => {
    const { code, err } = await sim(...args)
    expect(code).toBe(2)
    expect(err).toContain(why)
  })
})
