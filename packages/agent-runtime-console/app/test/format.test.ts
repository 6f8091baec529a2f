import { execFileSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

/** Moments as somebody in Tokyo is shown them, nine hours before UTC. */
function inTokyo(...asked: readonly (readonly [at: string, zone: 'local' | 'UTC', now: string])[]): unknown {
  const module = pathToFileURL(resolve(import.meta.dirname, '../src/ui/format.ts')).href
  const calls = asked.map(
    (it) => `(([at, zone, now]) => moment(Date.parse(at), zone, Date.parse(now)))(${JSON.stringify(it)})`,
  )
  const program = `import { moment } from ${JSON.stringify(module)}; console.log(JSON.stringify([${calls.join(', ')}]))`
  const env = { ...process.env, TZ: 'Asia/Tokyo' }
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { env, encoding: 'utf8' }),
  )
}

test('at the turn of a year a moment has its year where that is another one in the zone that is shown', () => {
  expect(
    inTokyo(
      ['2026-12-31T16:00:00Z', 'UTC', '2027-01-01T03:00:00Z'],
      ['2026-12-31T16:00:00Z', 'local', '2027-01-01T03:00:00Z'],
      ['2026-12-31T14:00:00Z', 'UTC', '2026-12-31T16:00:00Z'],
      ['2026-12-31T14:00:00Z', 'local', '2026-12-31T16:00:00Z'],
    ),
  ).toEqual(['Dec 31, 2026, 16:00:00', 'Jan 1, 01:00:00', 'Dec 31, 14:00:00', 'Dec 31, 2026, 23:00:00'])
})
