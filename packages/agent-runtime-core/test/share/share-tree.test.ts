import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  compareShares,
  entriesOf,
  firstOf,
  type ShareEntry,
  type ShareTree,
  sortedTree,
  treeOf,
  treeSize,
  withEntry,
  withoutEntry,
} from '../../src/share/share-tree.ts'

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

  test('compares by tier, time, sequence and id, in that order', () => {
    const at = (tier: number, time: number, sequence: number, id: number) => ({ tier, time, sequence, id })
    const all = [at(0, 9, 9, 9), at(1, 0, 9, 9), at(1, 1, 0, 9), at(1, 1, 1, 0), at(1, 1, 1, 1)]
    expect(all.toReversed().toSorted(compareShares)).toEqual(all)
    expect([...entriesOf(sortedTree(all.toReversed()))]).toEqual(all)
    expect(compareShares(at(1, 1, 1, 1), at(1, 1, 1, 1))).toBe(0)
  })

  test('without an entry that is not there, and with one that is, holds the same', () => {
    const all = Array.from({ length: 9 }, (_, id) => ({ tier: 0, time: 2 * id, sequence: 0, id }))
    const tree = treeOf(all)
    for (const it of all) expect([...entriesOf(withEntry(tree, it))]).toEqual(all)
    for (const time of [-1, 5, 99])
      expect([...entriesOf(withoutEntry(tree, { tier: 0, time, sequence: 0, id: 1 }))]).toEqual(all)
    expect(treeSize(undefined)).toBe(0)
    expect(firstOf(undefined)).toBeUndefined()
    expect(withoutEntry(undefined, all[0] as ShareEntry)).toBeUndefined()
  })

  test('no side weighs more than three times the other, however entries come and go', () => {
    const weightsHold = (tree: ShareTree): boolean => {
      if (tree === undefined) return true
      const [left, right] = [treeSize(tree.left) + 1, treeSize(tree.right) + 1]
      return left <= 3 * right && right <= 3 * left && weightsHold(tree.left) && weightsHold(tree.right)
    }
    const ids = Array.from({ length: 64 }, (_, id) => id)
    const orders = [
      ids,
      ids.toReversed(),
      ids.map((id) => (id % 2 === 0 ? id / 2 : 63 - (id - 1) / 2)),
      ids.map((id) => (id * 37) % 64),
    ]
    const entryOf = (id: number) => ({ tier: 0, time: id, sequence: 0, id })
    for (const coming of orders)
      for (const going of orders) {
        let tree: ShareTree
        for (const id of coming) {
          tree = withEntry(tree, entryOf(id))
          expect(weightsHold(tree)).toBe(true)
        }
        for (const id of going) {
          tree = withoutEntry(tree, entryOf(id))
          expect(weightsHold(tree)).toBe(true)
        }
        expect(tree).toBeUndefined()
      }
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
