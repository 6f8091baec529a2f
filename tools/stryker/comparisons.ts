import type { SameComparisons } from './scores.ts'

/** The changes to comparisons that nothing that can come tells from what stands there. */
export const sameComparisons: SameComparisons = {
  'codec/write.ts': {
    'i <= keys.length': 'nothing is greater than what is not there',
    'keys[i - 1] as string >= (keys[i] as string)': 'no two keys of an object are equal',
  },
  'evaluation/judgement.ts': {
    'Math.abs(sum - 1) < sumTolerance':
      'no sum of doubles is that far from 1: the difference has too few digits',
    'agent.agentId <= other.agentId': 'no two of them are one agent',
    'found.length > limit': 'what is put behind the last one is cut off at once',
  },
  'share/fairness.ts': { 'difference > 0': 'a difference of 0 leaves the time as it is, either way' },
  'queue/order.ts': { 'a.laneRank <= b.laneRank': 'the two are not equal there' },
  'queue/ahead.ts': { 'demand.tier <= mine.tier': 'the two are not equal there' },
  'queue/placement.ts': {
    'a.inFlight <= b.inFlight': 'the two are not equal there',
    'a.lastSeenAt <= b.lastSeenAt': 'the two are not equal there',
    'a.workerId <= b.workerId': 'no two of them are one worker',
  },
  'queue/preemption.ts': { 'open < 0': 'the first 0 of them are none' },
  'error/record.ts': { 'text.length * 3 < maxBytes': 'a text that may just fit does, when it is counted' },
  'event/event-bus.ts': {
    'this.#matching.size > MAX_CACHED_TYPES': 'who listens is the same, kept or found anew',
    'this.#matching.size < MAX_CACHED_TYPES': 'who listens is the same, kept or found anew',
  },
  'history/fold-events.ts': { 'a.key <= b.key': 'no two waits of a task share a key' },
  'history/hash.ts': { 'one <= other': 'the two are not equal there' },
  'share/share-tree.ts': {
    'order <= 0': 'the two are not equal there',
    'weightOf(right) >= 3 * weightOf(left)': 'turned or not, the tree is balanced, and its order the same',
    'weightOf(left) >= 3 * weightOf(right)': 'turned or not, the tree is balanced, and its order the same',
    'weightOf(inner) <= 2 * weightOf(outer)':
      'turned once or twice, the tree is balanced, and its order the same',
  },
  'codec/text-size.ts': {
    'text.length * 3 >= maxBytes': 'a text that may just fit does, when it is counted',
  },
  'queue/claim.ts': {
    '(within[0] as TaskRow).id >= last.id': 'no task is both loaded and queued since',
  },
  'wait/conclude.ts': { 'seq >= since': 'no child is spawned by the event of a verdict' },
  'history/inherit.ts': {
    'rejection.seq <= seq': 'no step begins in the event of a rejection',
    'seq <= last': 'no rejection is among what is kept',
  },
  'quota/hold.ts': { 'count < 0': 'taking none leaves the rooms as they are' },
  'share/share-book.ts': {
    'row.depth >= 0': 'a stream with nothing queued stands nowhere, or is about to leave',
  },
  'share/share-round.ts': {
    'compareShares(b, a) <= 0': 'those that are level are one stream, of one rank',
  },
  'submit/submit.ts': { 'keys.length >= 0': 'no quotas are taken by no keys' },
  'wait/suspend.ts': { 'a.key <= b.key': 'no two waits of a task share a key' },
}
