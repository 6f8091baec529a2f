import { describe, expect, test } from 'vitest'
import { childName, patienceKey } from '../../src/child/child.ts'
import { branchLimitKey, PATCH_KEY, RETRY_KEY } from '../../src/history/replay.ts'
import { describeDivergence } from '../../src/history/divergence.ts'
import { marketKey, marketTaskKey } from '../../src/market/market.ts'
import {
  PIPELINE_KEY,
  publicationKey,
  receiptKey,
  stageKey,
  stageWaitKey,
} from '../../src/pipeline/pipeline.ts'
import { escalationKey } from '../../src/recovery/escalation.ts'
import { doubtKey } from '../../src/step/doubt.ts'
import { keyText } from '../../src/step/key-text.ts'
import { afterKey, READY_KEY, supervisedKey, supervisorKey } from '../../src/supervision/supervision.ts'

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
    [escalationKey(7), 'the question whether it is to go on after its failure'],
    [PIPELINE_KEY, 'the beginning of the pipeline'],
    [stageKey({ stage: 'pack' }), "stage 'pack'"],
    [stageKey({ stage: 'pack', partition: 2 }), "partition 2 of stage 'pack'"],
    [stageWaitKey('n', { for: 'room', type: 'a' }), "room for an event of type 'a'"],
    [stageWaitKey('n', { for: 'events', types: ['a', 'b'] }), "events of type 'a' or 'b'"],
    [receiptKey(['a', 'b'], 3), "receipt 3 of 'a,b'"],
    [publicationKey('a,b', 'hash', 0), "a publication of 'a', 'b'"],
    [marketKey('proposal'), "stage 'proposal'"],
    [marketTaskKey('proposal'), "the task of stage 'proposal'"],
    [supervisedKey({ id: 'a/b', restart: 'permanent' }), "supervised child 'a/b'"],
    [READY_KEY, 'the sign that it is ready'],
    [
      afterKey(0, 'c', [
        { id: 'a', restart: 'permanent', until: 'ready' },
        { id: 'b', restart: 'transient', until: 'completed' },
      ]),
      "the moment for child 'c' to start, once 'a' is ready and 'b' has completed",
    ],
    [
      supervisorKey({ strategy: 'rest_for_one', maxRestarts: 3, periodMs: 5_000, endsWith: 'cancel' }),
      'supervised children (rest_for_one, at most 3 restarts in 5 s)',
    ],
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
