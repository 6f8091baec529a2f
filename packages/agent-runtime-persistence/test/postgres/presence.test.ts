import { expect, test } from 'vitest'
import { Connections } from '../../src/postgres/connection/connections.ts'
import { loadDriver } from '../../src/postgres/connection/driver.ts'
import { Presence } from '../../src/postgres/processes/presence.ts'
import { parsePostgresUrl } from '../../src/postgres/connection/url.ts'
import { systemEnvironment } from '../../src/system.ts'

/** How often in a minute a process asks who else lives, beside so many that do. */
async function asksBeside(others: number): Promise<number> {
  const { timers } = systemEnvironment()
  const connections = new Connections(
    await loadDriver(),
    parsePostgresUrl('postgres://u:p@localhost/d'),
    timers,
  )
  const presence = new Presence(connections, {
    ttlMs: 90_000,
    timers,
    isVirtual: false,
    onHint: () => undefined,
    looksAt: () => false,
  })
  const rows = Array.from({ length: others }, (_, id) => [id + 2, 0, 1])
  let asks = 0
  for (let mono = 0; mono < 60_000; mono += 50) {
    if (presence.question(mono, 0).length === 0) continue
    asks += 1
    presence.take({ fields: [], rows, command: '' }, mono)
  }
  return asks
}

test('few processes ask twice a second who else lives, and 200 ask together about as often as ten', async () => {
  expect([await asksBeside(1), await asksBeside(10)]).toEqual([120, 120])
  expect((await asksBeside(199)) * 200).toBeLessThanOrEqual(120 * 12)
})
