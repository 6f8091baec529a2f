import { expect, test } from 'vitest'
import { isWhole } from '../../../../tools/draws.ts'
import { seen } from './programs/life.ts'
import { type Construct, constructs } from './programs/program.ts'
import { played } from './programs.test.ts'

test('all that can happen in a program has happened in one', () => {
  if (played.programs === 0) return
  if (process.env['PROGRAM_RUNS'] !== undefined)
    console.log(`${played.programs} programs, ${played.crashes} crashes`, Object.fromEntries(seen))
  const expected = [
    ...constructs,
    // Nothing is waited for when a step has failed: a crash finds the handler behind it.
    ...constructs.filter((it) => it !== 'broken').map((it) => `${it}: crashed inside`),
    ...remembered.map((it) => `${it}: answered by a memo`),
    'child: kept and completed',
    'child: kept and failed',
    'child: kept and canceled',
    'child: dropped and canceled',
    'checkpoint: restored',
    'asked about a doubt',
    'given up in doubt',
    'verified',
    'rejected',
    'ended by throwing',
    'Theorem 11: replayed from memos alone',
    'Corollary 12: counted',
    'order hash: no trace of the crash',
    'order hash: the same but for the crash',
  ]
  // The few programs of a landing leave out something rare.
  const missed = expected.filter((what) => !seen.has(what))
  expect(isWhole || missed.length > expected.length / 10 ? missed : []).toEqual([])
})

/** What answers later passes with what it answered. */
const remembered: readonly Construct[] = [
  'step',
  'flaky',
  'doubtful',
  'sleep',
  'signal',
  'mail',
  'approval',
  'race',
  'late',
  'all',
  'child',
  'patched',
]
