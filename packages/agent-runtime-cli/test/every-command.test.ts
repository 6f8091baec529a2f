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

  test('either asks a server, or says why it takes none and what to use', async () => {
    for (const [name, entry] of all) {
      const isGroup = entry.commands !== undefined && entry.options === undefined
      const asks = entry.options?.some(({ flags }) => flags.startsWith('--server')) === true
      expect([name, isGroup || asks !== (entry.noServer !== undefined)]).toEqual([name, true])
      if (entry.noServer === undefined) continue
      expect(await runIn({}, ...callOf(name, entry), '--server', 'http://127.0.0.1:9')).toEqual({
        code: cliExitCodes.usage,
        out: '',
        err: `agent-runtime: ${name} takes no --server: ${entry.noServer}; see agent-runtime ${name} --help\n`,
      })
    }
  })

  test.each(['verify', 'doctor'])(
    '%s looks after the server of the settings, unless a store is named',
    async (name) => {
      const folder = scratchFolder()
      const server = 'http://127.0.0.1:9'
      const variables = { AGENT_RUNTIME_SERVER: server, AGENT_RUNTIME_STORE: 'runtime.db' }
      const unreachable = { code: cliExitCodes.busy, err: expect.stringContaining(`at ${server}`) as string }
      expect(await runIn({ folder, variables }, name)).toMatchObject(unreachable)
      expect(await runIn({ folder }, name, server)).toMatchObject(unreachable)
      for (const named of [['--store', 'no.db'], [join(folder, 'no.db')]])
        expect(await runIn({ folder, variables }, name, ...named)).toMatchObject({
          code: cliExitCodes.missing,
          err: expect.stringContaining('no.db') as string,
        })
      expect(await runIn({ folder }, name, 'no.db', '--server', server)).toMatchObject({
        code: cliExitCodes.usage,
        err: expect.stringContaining('either a store or --server') as string,
      })
    },
  )

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
