import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { sharedServer } from '../../agent-runtime-persistence/test/helpers/postgres-server.ts'
import { applicationId, migrations } from '../../agent-runtime-persistence/src/sqlite/schema.ts'
import { cliExitCodes } from '../src/index.ts'
import { callOf, makers, onStore } from './every-call.ts'
import { runIn, scratchFolder } from './stores-and-shells.ts'

const askers = onStore.filter(([name]) => !makers.has(name) && !['config', 'doctor'].includes(name))

test('a command that may not make a store says that there is none on PostgreSQL, and makes none', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  for (const [name, entry] of askers) {
    const { code, out, err } = await runIn({}, ...callOf(name, entry), '--store', url)
    expect([name, code, out]).toEqual([name, cliExitCodes.missing, ''])
    expect(err).toMatch(/^agent-runtime: [^\n]*there is no store at postgres:[^\n]*schema=store_[^\n]*\n$/)
  }
  const client = await server.connect(url)
  const schema = new URL(url).searchParams.get('schema')
  expect((await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).rows).toEqual([])
  await client.end()
})

test('a command that may not make a store leaves one of an older version as it is', async () => {
  const store = join(scratchFolder(), 'it.db')
  const db = new Database(store)
  for (const { sql } of migrations.slice(0, 3)) db.exec(sql)
  db.pragma(`application_id = ${applicationId}`)
  db.pragma('user_version = 3')
  for (const [name, entry] of askers) {
    const { code, out, err } = await runIn({}, ...callOf(name, entry), '--store', store)
    expect([name, code, out]).toEqual([name, cliExitCodes.version, ''])
    expect(err).toMatch(
      /^agent-runtime: [^\n]*was made by an older version[^\n]*open it once with a worker or a server[^\n]*\n$/,
    )
  }
  expect(db.pragma('user_version', { simple: true })).toBe(3)
  db.close()
})

test('the exit code says whether a PostgreSQL server refuses the role, lacks the database or is away', async () => {
  const { url } = await sharedServer()
  const at = (change: (it: URL) => void) => {
    const it = new URL(url)
    change(it)
    return runIn({}, 'list', '--store', it.href)
  }
  const refusal = /^agent-runtime: postgres:[^\n]*: PostgreSQL refuses the connection [^\n]*\n$/
  const stranger = await at((it) => (it.password = 'wrong'))
  expect(stranger).toMatchObject({ code: cliExitCodes.denied, err: expect.stringMatching(refusal) as string })
  const nowhere = await at((it) => (it.pathname = '/nowhere'))
  expect(nowhere).toMatchObject({ code: cliExitCodes.missing, err: expect.stringMatching(refusal) as string })
  const away = await at((it) => (it.port = '1'))
  expect(away).toMatchObject({
    code: cliExitCodes.busy,
    err: expect.stringContaining('cannot be reached') as string,
  })
})

test('a command that has made its store says so, once, and the next one finds it', async () => {
  const folder = scratchFolder()
  const submit = () => runIn({ folder }, 'submit', 'greet', '1', '--store', 'typo.db')
  expect((await submit()).err).toContain(`made the new store sqlite:${join(folder, 'typo.db')}\n`)
  expect((await submit()).err).not.toContain('made')
  const { out } = await runIn({ folder }, 'token', 'create', 'x', '--scopes', 'read', '--store', 'other.db')
  expect(out).toMatch(/^ku0_/)
})
