import { ShareBook } from '../share/share-book.ts'
import { type Base, type Instant, type Surroundings, WorkingSet } from './working-set.ts'

/** The working set of a flush, with the order of the clients where the store has shares. */
export function openWorkingSet(base: Base, now: Instant, around: Surroundings): WorkingSet {
  const { shares } = around.config
  return new WorkingSet(base, now, around, (ws) =>
    shares === undefined ? undefined : new ShareBook(ws, base.shares, shares),
  )
}
