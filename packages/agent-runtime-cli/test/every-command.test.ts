import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cliExitCodes } from '../src/index.ts'
import { all, callOf, makers, onStore } from './every-call.ts'
import { runIn, scratchFolder } from './stores-and-shells.ts'

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

  test('says that a store is not there, and makes none, unless it starts, submits or keeps something', async () => {
    const folder = scratchFolder()
    expect([...makers]).toEqual(['worker', 'submit', 'serve', 'schedules put', 'token create'])
    // These say it in words of their own, and config opens none.
    const others = new Set([...makers, 'config', 'verify', 'doctor'])
    for (const [name, entry] of onStore.filter(([it]) => !others.has(it)))
      expect([name, await runIn({ folder }, ...callOf(name, entry), '--store', 'no.db')]).toEqual([
        name,
        {
          code: cliExitCodes.missing,
          out: '',
          err: `agent-runtime: there is no store at ${join(folder, 'no.db')} (named by --store)\n`,
        },
      ])
  })

  test('does not act on the store of the settings where they name a server that it cannot ask', async () => {
    const folder = scratchFolder()
    const variables = { AGENT_RUNTIME_SERVER: 'http://127.0.0.1:9', AGENT_RUNTIME_STORE: 'runtime.db' }
    // These start processes of their own on a store, and say on which one.
    const starters = new Set(['worker', 'serve', 'console'])
    const storeOnly = onStore.filter(
      ([name, { options = [] }]) =>
        !starters.has(name) && !options.some(({ flags }) => flags.startsWith('--server')),
    )
    const found = await Promise.all(
      storeOnly.map(async ([name, entry]) => [
        name,
        await runIn({ folder, variables }, ...callOf(name, entry)),
        await runIn({ folder, variables }, ...callOf(name, entry), '--store', 'no.db'),
      ]),
    )
    const refused = {
      code: cliExitCodes.usage,
      out: '',
      err: 'agent-runtime: this command works on a store itself, and the settings name a server (AGENT_RUNTIME_SERVER): name the store with --store\n',
    }
    const named = { err: expect.stringContaining('no.db') as string }
    expect(found).toEqual(
      ['verify', 'doctor'].map((name) => [name, refused, expect.objectContaining(named) as unknown]),
    )
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
