import { expect, onTestFinished, test } from 'vitest'
import { Connections } from '../../src/postgres/connection/connections.ts'
import { loadDriver } from '../../src/postgres/connection/driver.ts'
import { Presence } from '../../src/postgres/processes/presence.ts'
import { parsePostgresUrl } from '../../src/postgres/connection/url.ts'
import { systemEnvironment } from '../../src/system.ts'
import { sharedServer } from '../helpers/postgres-server.ts'

/** A process that shows its first number, and a hand on the server. */
async function newStage() {
  const server = await sharedServer()
  const url = server.newStore()
  const { timers } = systemEnvironment()
  const connections = new Connections(await loadDriver(), parsePostgresUrl(url), timers)
  const presence = new Presence(connections, {
    ttlMs: 90_000,
    timers,
    isVirtual: false,
    onHint: () => undefined,
    looksAt: () => true,
  })
  onTestFinished(() => presence.close())
  const client = await server.connect(url)
  onTestFinished(() => client.end())
  const key = `hashtext('ku0 process ' || '${new URL(url).searchParams.get('schema') ?? ''}')`
  const locks = `FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND classid = (${key}::bigint & 4294967295)::oid`
  await presence.show(7)
  return {
    presence,
    client,
    locked: async (number: number) =>
      (await client.query(`SELECT granted ${locks} AND objid = ${number} ORDER BY granted`)).rows.map(
        ({ granted }: { granted: boolean }) => granted,
      ),
    cut: () => client.query(`SELECT pg_terminate_backend(pid) ${locks} AND pid <> pg_backend_pid()`),
    take: () => client.query(`SELECT pg_advisory_lock(${key}, 7)`),
    giveBack: () => client.query(`SELECT pg_advisory_unlock(${key}, 7)`),
  }
}

test('a process whose row did not come about while it takes its lock again keeps no lock of the number that another may have', async () => {
  const { presence, locked, cut, take, giveBack } = await newStage()
  expect(await locked(7)).toEqual([true])
  await cut()
  await take()
  await expect.poll(() => locked(7)).toEqual([false, true])
  const hidden = presence.hide()
  await giveBack()
  await hidden
  await presence.show(8)
  expect(await locked(7)).toEqual([])
  expect(await locked(8)).toEqual([true])
})

test('it shows its next number although the connection that it kept for that was lost meanwhile', async () => {
  const { presence, client, locked } = await newStage()
  await presence.hide()
  expect(await locked(7)).toEqual([])
  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'agent-runtime listen'",
  )
  await presence.show(8)
  expect(await locked(8)).toEqual([true])
})
