import { describe, expect, test } from 'vitest'
import { childName, patienceKey } from '../../src/child/child.ts'
import { branchLimitKey, PATCH_KEY, RETRY_KEY } from '../../src/history/replay.ts'
import { describeDivergence } from '../../src/history/divergence.ts'
import { doubtKey } from '../../src/step/doubt.ts'
import { keyText } from '../../src/step/key-text.ts'

describe('keys in texts for people', () => {
  test.each([
    ['charge', "'charge'"],
    ['a/b', "'a/b'"],
    [doubtKey('a/b', 12), "the question whether step 'a/b' took effect"],
    [`${RETRY_KEY}2/a/b`, "the back-off before retry 2 of 'a/b'"],
    [`${RETRY_KEY}12/a\nb`, "the back-off before retry 12 of 'a\nb'"],
    [`${RETRY_KEY}limit-2/a/b`, "the wait that a rate limit asked of 'a/b'"],
    [`${RETRY_KEY}limit-12/a\nb`, "the wait that a rate limit asked of 'a\nb'"],
    [`${RETRY_KEY}once/2/a`, `'${RETRY_KEY}once/2/a'`],
    [`${RETRY_KEY}once/limit-2/a`, `'${RETRY_KEY}once/limit-2/a'`],
    [`a${RETRY_KEY}`, `'a${RETRY_KEY}'`],
    [`limit-2/${RETRY_KEY}`, `'limit-2/${RETRY_KEY}'`],
    [branchLimitKey('a/b'), "the time limit of 'a/b'"],
    [patienceKey('a/b', 1), "the patience for child 'a/b'"],
    [childName('a/b'), "child 'a/b'"],
    [`${PATCH_KEY}a/b`, "patch 'a/b'"],
  ])('%s is %s', (key, text) => {
    expect(keyText(key)).toBe(text)
  })

  test('a divergence names a patch as the program does', () => {
    const key = `${PATCH_KEY}new-mail`
    const divergence = { kind: 'unexpected_step', key, position: 1, expected: 'mail', actual: key } as const
    expect(describeDivergence(divergence)).toBe("call 1 is patch 'new-mail' where the history has 'mail'")
    const missing = { kind: 'missing_step', key: 'mail', position: 1, expected: 'mail', actual: key } as const
    expect(describeDivergence(missing)).toContain("continues with patch 'new-mail'")
  })
})
