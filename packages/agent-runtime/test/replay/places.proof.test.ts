import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('../processes/behaviour.ts', import.meta.url))

test('H14 records, hashes and schedules are the same in every language, place and time zone', async () => {
  const places = [
    { TZ: 'UTC', LC_ALL: 'C' },
    { TZ: 'Pacific/Apia', LC_ALL: 'tr_TR.UTF-8' },
    { TZ: 'America/St_Johns', LC_ALL: 'sv_SE.UTF-8' },
  ]
  const said = await Promise.all(
    places.map(async (env) => {
      const { stdout } = await promisify(execFile)(process.execPath, [program], {
        env: { ...process.env, ...env },
      })
      return stdout
    }),
  )
  expect(said[0]?.split('\n').length).toBeGreaterThan(18)
  expect(said.map((text) => text === said[0])).toEqual([true, true, true])
})
