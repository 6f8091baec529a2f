import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openStore, probeServer, type ServerReport } from '../../src/index.ts'
import { sharedServer } from '../helpers/postgres-server.ts'

/** The outcome of each check, by its name. */
function outcomes({ checks }: ServerReport): Readonly<Record<string, boolean | null>> {
  return Object.fromEntries(checks.map(({ name, ok }) => [name, ok]))
}

/** A connection of the server's owner, and statements that are taken back when the test has ended. */
async function owner(undo: readonly string[]): Promise<Client> {
  const client = new Client({ connectionString: (await sharedServer()).url })
  await client.connect()
  onTestFinished(async () => {
    for (const sql of undo) await client.query(sql)
    await client.end()
  })
  return client
}

async function schemas(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ nspname: string }>(
    "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'ku0_probe%'",
  )
  return rows.map(({ nspname }) => nspname)
}

const but = (checks: Readonly<Record<string, boolean | null>>, name: string) =>
  Object.entries(checks).filter(([it, ok]) => ok !== true && it !== name && it !== 'durability')

test('a real server has all that a store needs, and nothing is left of the trial', async () => {
  const url = (await sharedServer()).newStore()
  const client = await owner([])
  const report = await probeServer(url)
  const checks = outcomes(report)
  // The server of the tests does not sync, which is found.
  expect(but(checks, '')).toEqual([])
  expect(report.checks.find(({ name }) => name === 'tasks from end to end')?.found).toMatch(
    /^40 tasks of two processes in \d+ ms, and they verify$/,
  )
  const { rows: synced } = await client.query<{ it: boolean }>(
    "SELECT current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' AS it",
  )
  expect([report.ok, checks['durability']]).toEqual([synced[0]?.it, synced[0]?.it])
  expect(report.checks.every(({ ok, remedy }) => (ok === true) === (remedy === undefined))).toBe(true)
  expect(await schemas(client)).toEqual([])
  const { rows } = await client.query('SELECT to_regnamespace($1) AS it', [
    new URL(url).searchParams.get('schema'),
  ])
  expect(rows).toEqual([{ it: null }])
  // Each check stands on the page, with what it is needed for.
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/postgresql-scale.md'), 'utf8')
  for (const { name, needed } of report.checks)
    expect(page).toMatch(
      new RegExp(
        `\\| \`${name}\` +\\| ${{ store: 'always', sessions: 'without a pooler', advice: 'advice' }[needed]} `,
      ),
    )
})

test('it may be used beside a store that is in use, which does not notice', async () => {
  const url = (await sharedServer()).newStore()
  const store = await openStore(url)
  onTestFinished(() => store.close())
  const before = (await store.read({ kind: 'stats' })).totals
  expect(but(outcomes(await probeServer(url)), '')).toEqual([])
  expect((await store.read({ kind: 'stats' })).totals).toEqual(before)
})

test('a role that may not make tables differs from one that may only use its own schema', async () => {
  const url = new URL((await sharedServer()).newStore())
  const schema = url.searchParams.get('schema') ?? ''
  const role = `probe_${process.pid}`
  const client = await owner([
    `DROP SCHEMA IF EXISTS ${schema} CASCADE`,
    `DROP OWNED BY ${role}`,
    `DROP ROLE ${role}`,
  ])
  await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p'`)
  url.username = role
  url.password = 'p'
  const none = await probeServer(url.href)
  expect(outcomes(none)).toMatchObject({ rights: false, sessions: true, 'tasks from end to end': null })
  expect(none.checks.find(({ name }) => name === 'rights')).toMatchObject({
    found: `role ${role} may not make the schema ${schema}, which is not there`,
    remedy: expect.stringContaining('CREATE SCHEMA'),
  })
  await client.query(`CREATE SCHEMA ${schema} AUTHORIZATION ${role}`)
  const own = await probeServer(url.href)
  expect(outcomes(own)).toMatchObject({ rights: true, 'tasks from end to end': null })
  expect(own.checks.at(-1)?.remedy).toContain('CREATE on the database')
  expect(JSON.stringify(own)).not.toContain('p@')
})

test('a server that takes no writes, one with another encoding, and one that is too old for a lock are found', async () => {
  const base = new URL((await sharedServer()).newStore())
  const name = `probe_${process.pid}`
  const client = await owner([`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`])
  base.searchParams.set('options', '-c default_transaction_read_only=on')
  const readOnly = await probeServer(base.href)
  expect([readOnly.ok, outcomes(readOnly)]).toMatchObject([
    false,
    { writable: false, 'tasks from end to end': null },
  ])
  await client.query(
    `CREATE DATABASE ${name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
  )
  base.searchParams.delete('options')
  base.pathname = `/${name}`
  const latin = await probeServer(base.href)
  expect(latin.checks.find((it) => it.name === 'encoding')).toMatchObject({ ok: false, found: 'LATIN1' })
  // Locks that do nothing, as some servers have them: the search path finds these before the real ones.
  await client.query(`DROP DATABASE ${name}`)
  await client.query(`CREATE DATABASE ${name} TEMPLATE template0`)
  base.searchParams.set('options', '-c search_path=fake,pg_catalog')
  const fake = new Client({ connectionString: base.href.replace(/\?.*/, '') })
  await fake.connect()
  await fake.query(`CREATE SCHEMA fake;
    CREATE FUNCTION fake.pg_advisory_xact_lock(bigint) RETURNS void LANGUAGE sql AS 'SELECT';
    CREATE FUNCTION fake.pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';
    CREATE FUNCTION fake.pg_advisory_lock(bigint) RETURNS void LANGUAGE sql AS 'SELECT';
    CREATE FUNCTION fake.pg_try_advisory_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`)
  await fake.end()
  base.searchParams.set('schema', 'fake')
  base.searchParams.set('pooler', 'transaction')
  const without = await probeServer(base.href)
  expect([without.ok, outcomes(without)]).toMatchObject([
    false,
    { 'transaction locks': false, 'session locks': false, 'tasks from end to end': null },
  ])
})

test('a server that cannot be reached is no report', async () => {
  await expect(probeServer('postgres://app@127.0.0.1:1/work')).rejects.toMatchObject({
    code: 'store_unavailable',
  })
  await expect(probeServer('sqlite:tasks.db')).rejects.toMatchObject({ code: 'invalid_argument' })
})
