import { expect, test } from 'vitest'
import { begun, type Version } from './versions.ts'

const waitsUnder =
  (key: string, signal = 'go'): Version =>
  (ctx) =>
    ctx.race('race', {
      word: (branch) => branch.waitForSignal(key, { signal }),
      patience: (branch) => branch.sleep('patience', 1_000_000),
    })

test.each([
  ['the same key', 'old', 'go', 'agreed'],
  ['a new key and a new signal', 'new', 'other', 'agreed'],
  ['a new key for the same signal, which the wait under the old one would take', 'new', 'go', 'diverged'],
])('a wait in a branch under %s', async (_, key, signal, verdict) => {
  const versions = await begun(waitsUnder('old'))
  await versions.review(waitsUnder(key, signal))
  const report = await versions.runtime.replay(versions.taskId, { mode: 'verify' })
  expect(report).toMatchObject({ verdict })
  const found = { kind: 'unexpected_step', key: 'new', position: 0, expected: 'old', actual: 'new' }
  expect(report.diverged).toEqual(verdict === 'diverged' ? found : undefined)
})
