import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { commands } from '../src/catalogue/catalogue.ts'
import type { CommandEntry } from '../src/catalogue/entry.ts'
import { cliExitCodes } from '../src/index.ts'
import { runIn, scratchFolder } from './stores-and-shells.ts'

const tasks = join(import.meta.dirname, 'project/tasks.ts')

/** Every command with the words that lead to it. */
const all = commands.flatMap(function below(
  entry: CommandEntry,
): readonly (readonly [string, CommandEntry])[] {
  return [
    [entry.name, entry],
    ...(entry.commands ?? []).flatMap((it) =>
      below(it).map(([name, at]) => [`${entry.name} ${name}`, at] as const),
    ),
  ]
})
/** Those that open it. */
const onStore = all.filter(([, { options = [] }]) => options.some(({ flags }) => flags.includes('--store')))

/** A call that fits the command. */
function callOf(name: string, { args = [], options = [] }: CommandEntry): string[] {
  const given = args
    .filter((arg) => arg.name.startsWith('<'))
    .map((arg) => (arg.name === '<amount>' ? '1' : 'x'))
  const more: Readonly<Record<string, readonly string[]>> = {
    cancel: ['x'],
    retry: ['x'],
    signal: ['1'],
    submit: ['1'],
    'schedules put': ['1', '--every', '5m'],
    'supervisors start': ['1'],
    'token create': ['--scopes', 'read'],
  }
  const needsTasks =
    options.some(({ flags }) => flags.includes('--tasks')) &&
    !['submit', 'schedules put', 'supervisors start'].includes(name)
  return [...name.split(' '), ...given, ...(more[name] ?? []), ...(needsTasks ? ['--tasks', tasks] : [])]
}

describe('every command', () => {
  test.each(all)('%s has a help with examples that name it', async (name, { examples }) => {
    const { code, out, err } = await runIn({}, ...name.split(' '), '--help')
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain(`Usage: agent-runtime ${name}`)
    expect(out).toContain('Examples:')
    for (const [line] of examples) expect(line).toContain(`agent-runtime ${name}`)
  })

  test('answers a file that is no store with one line and the code for it, and never with a stack', async () => {
    const folder = scratchFolder()
    writeFileSync(join(folder, 'garbage.db'), 'garbage\n'.repeat(1_000))
    for (const [name, entry] of onStore.filter(
      ([it]) => !['config', 'worker', 'serve', 'console'].includes(it),
    )) {
      const found = await runIn({ folder }, ...callOf(name, entry), '--store', 'garbage.db')
      expect([name, found]).toEqual([
        name,
        {
          code: cliExitCodes.damaged,
          out: '',
          err: expect.stringMatching(
            /^agent-runtime: [^\n]*garbage\.db is not a SQLite database[^\n]*\n$/,
          ) as string,
        },
      ])
    }
  })

  test('says that a store is not there, and makes none, unless it submits something', async () => {
    const folder = scratchFolder()
    const makers = new Set([
      'config',
      'worker',
      'serve',
      'submit',
      'schedules put',
      'verify',
      'doctor',
      'token create',
    ])
    for (const [name, entry] of onStore.filter(([it]) => !makers.has(it)))
      expect([name, await runIn({ folder }, ...callOf(name, entry), '--store', 'no.db')]).toEqual([
        name,
        {
          code: cliExitCodes.missing,
          out: '',
          err: `agent-runtime: there is no store at ${join(folder, 'no.db')} (named by --store)\n`,
        },
      ])
  })

  test('takes an empty file for no store, and makes none of it', async () => {
    const folder = scratchFolder()
    writeFileSync(join(folder, 'no.db'), '')
    for (const command of ['list', 'stats', 'check'])
      expect(await runIn({ folder }, command, '--store', 'no.db')).toEqual({
        code: cliExitCodes.missing,
        out: '',
        err: `agent-runtime: there is no store at ${join(folder, 'no.db')}, the file is empty (named by --store)\n`,
      })
    expect(statSync(join(folder, 'no.db')).size).toBe(0)
  })

  test.each(['bash', 'zsh', 'fish'])('is in the completion script of %s', async (shell) => {
    const { code, out } = await runIn({}, 'completion', shell)
    expect(code).toBe(0)
    for (const [name] of all) for (const word of name.split(' ')) expect(out).toContain(word)
    expect(await runIn({}, 'completion', `${shell}s`)).toMatchObject({ code: 2, out: '' })
  })
})
