import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  compareShares,
  entriesOf,
  firstOf,
  type ShareEntry,
  type ShareTree,
  treeOf,
  treeSize,
  withEntry,
  withoutEntry,
} from '../src/share-tree.ts'

const entry = fc.record({
  tier: fc.integer({ min: 0, max: 1 }),
  time: fc.integer({ min: 0, max: 20 }),
  sequence: fc.integer({ min: 0, max: 20 }),
  id: fc.integer({ min: 0, max: 20 }),
})
const keyOf = (it: ShareEntry) => `${it.tier}.${it.time}.${it.sequence}.${it.id}`

function heightOf(tree: ShareTree): number {
  return tree === undefined ? 0 : 1 + Math.max(heightOf(tree.left), heightOf(tree.right))
}

describe('the tree of shares', () => {
  test('holds what a sorted list would, whatever is added and removed, and stays balanced', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), entry), { maxLength: 200 }), (moves) => {
        let tree: ShareTree
        const list = new Map<string, ShareEntry>()
        for (const [adds, it] of moves) {
          tree = adds ? withEntry(tree, it) : withoutEntry(tree, it)
          if (adds) list.set(keyOf(it), it)
          else list.delete(keyOf(it))
          const sorted = [...list.values()].toSorted(compareShares)
          expect([...entriesOf(tree)]).toEqual(sorted)
          expect(firstOf(tree)).toEqual(sorted[0])
          expect(treeSize(tree)).toBe(sorted.length)
          expect(heightOf(tree)).toBeLessThanOrEqual(2.5 * Math.log2(sorted.length + 1) + 1)
        }
      }),
    )
  })

  test('a tree that was handed out never changes', () => {
    const all = Array.from({ length: 50 }, (_, id) => ({ tier: 0, time: id, sequence: 0, id }))
    const before = treeOf(all)
    for (const it of all) withoutEntry(before, it)
    withEntry(before, { tier: 0, time: -1, sequence: 0, id: 99 })
    expect([...entriesOf(before)]).toEqual(all)
  })

  test('100 000 entries are 17 to 40 deep, however they came in', () => {
    const all = Array.from({ length: 100_000 }, (_, id) => ({ tier: 0, time: id, sequence: 0, id }))
    const rising = all.reduce<ShareTree>((tree, it) => withEntry(tree, it), undefined)
    const built = treeOf(all)
    for (const tree of [rising, built]) {
      expect(heightOf(tree)).toBeGreaterThanOrEqual(17)
      expect(heightOf(tree)).toBeLessThanOrEqual(40)
    }
  })
})
