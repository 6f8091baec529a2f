import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore, verifyStore } from '@ku0/agent-runtime-persistence'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { anyText } from '../../../../tools/any-text.ts'
import { draws } from '../../../../tools/draws.ts'
import { cliExitCodes, runCommand } from '../../src/index.ts'

/** Other arguments by FUZZ_SEED, more of them by FUZZ_RUNS. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
const runs = Number(process.env['FUZZ_RUNS'] ?? draws(5, 60, 150))

/** A backup writes wherever it is told to: only to places of the test's own. */
function within(args: readonly string[]): readonly string[] {
  const isOurs = (arg: string) => /^(?:backup$|-|\/|sqlite:\/)/.test(arg)
  return args[0] === 'backup' ? args.filter(isOurs) : args
}

test(
  'the command ends with one of its codes and one line for any arguments, and no store is changed (docs/reliability.md 3.7)',
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cli-fuzz-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'it.db')
    const store = await openStore(`sqlite:${path}`, { thread: false })
    await store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    await store.close()
    const garbage = join(folder, 'garbage.db')
    writeFileSync(garbage, 'garbage\n'.repeat(1_000))
    const anchored = join(folder, 'anchored.db')
    copyFileSync(path, anchored)
    writeFileSync(`${anchored}-anchor`, '\0'.repeat(1_000))
    mkdirSync(join(folder, 'folder'))
    const word = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.constantFrom(
          'verify',
          'doctor',
          'backup',
          'help',
          'nope',
          'list',
          'show',
          'queue',
          'check',
          'config',
        ),
      },
      {
        weight: 6,
        arbitrary: fc.constantFrom(
          path,
          `sqlite:${path}`,
          garbage,
          anchored,
          join(folder, 'folder'),
          join(folder, 'nowhere.db'),
          join(folder, 'nowhere', 'it.db'),
          '/dev/null',
          'sqlite:',
          ':memory:',
          'postgres://x',
          `${path}?mode=rw`,
        ),
      },
      {
        weight: 3,
        arbitrary: fc.constantFrom(
          '--json',
          '--store',
          '--state',
          '--limit',
          '--help',
          '--max-faults',
          '--max-faults=-1',
          '--',
          '-',
          '-h',
          '--nope',
          '--json=x',
          '1e999',
          'NaN',
          '0',
        ),
      },
      { weight: 1, arbitrary: anyText() },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          '',
          '\0',
          '\ud800',
          'x'.repeat(100_000),
          '__proto__',
          '--__proto__',
          '--constructor=1',
        ),
      },
    )
    const codes: number[] = Object.values(cliExitCodes)
    const seen = new Set<number>()
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 5 }).map(within), async (args) => {
        const said = { out: '', err: '' }
        const code = await runCommand(args, {
          out: (text) => void (said.out += text),
          err: (text) => void (said.err += text),
        })
        seen.add(code)
        expect(codes).toContain(code)
        expect(code === cliExitCodes.ok ? said.err : said.err + said.out).toMatch(
          code === cliExitCodes.ok ? /^$/ : /\S/,
        )
        expect(said.err).toMatch(/^(?:[^\n]*\n)?$/)
        expect(said.out + said.err).not.toMatch(
          /\n\s+at |SQLITE_|TypeError|RangeError|is not a function|Cannot read/,
        )
        // What people read holds no control character but the end of a line.
        // oxlint-disable-next-line no-control-regex -- those are what is looked for
        expect(said.out + said.err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/)
      }),
      {
        seed,
        numRuns: runs,
        examples: [
          [[]],
          [['verify', path]],
          [['doctor', garbage]],
          [['verify', path, '--max-faults', '1e9']],
        ],
      },
    )
    expect([...seen]).toEqual(
      expect.arrayContaining([cliExitCodes.ok, cliExitCodes.usage, cliExitCodes.damaged]),
    )
    expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true, tasks: 1 })
  },
)
