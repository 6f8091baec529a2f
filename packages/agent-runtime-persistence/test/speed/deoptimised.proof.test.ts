import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const flushes = 1_200
/** A function is compiled for what it has seen, and given up when something else comes: that is over after a few times. */
const most = 20

test('no function of a store is compiled and given up again and again: what it costs is no flush in a hundred', async () => {
  const fixture = join(import.meta.dirname, '../fixtures/mixed-flushes.ts')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--trace-deopt', fixture, String(flushes)],
    { maxBuffer: 256 * 1024 * 1024 },
  )
  const times = new Map<string, number>()
  for (const [, name = ''] of stdout.matchAll(/^\[bailout [^\n]*<JSFunction (?<name>\S+) \(sfi/gm))
    times.set(name, (times.get(name) ?? 0) + 1)
  // V8 says so in words of its own, which another version may change.
  expect(times.size).toBeGreaterThan(0)
  expect([...times].filter(([, count]) => count > most)).toEqual([])
})
