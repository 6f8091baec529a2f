/**
 * Items of which the first is always known: a binary heap. Adding one and removing the first cost the logarithm of their number. `isBefore` orders them, and
 * has to be a strict order that does not change while they are in it.
 */
export class Heap<T> {
  private readonly all: T[] = []
  private readonly isBefore: (a: T, b: T) => boolean

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.isBefore = isBefore
  }

  get first(): T | undefined {
    return this.all[0]
  }

  get size(): number {
    return this.all.length
  }

  add(item: T): void {
    const { all } = this
    let at = all.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = all[parent] as T
      if (!this.isBefore(item, above)) break
      all[at] = above
      at = parent
    }
    all[at] = item
  }

  removeFirst(): void {
    const { all } = this
    const last = all.pop() as T
    if (all.length === 0) return
    let at = 0
    for (let child = 1; child < all.length; child = 2 * at + 1) {
      const right = all[child + 1]
      if (right !== undefined && this.isBefore(right, all[child] as T)) child += 1
      const below = all[child] as T
      if (!this.isBefore(below, last)) break
      all[at] = below
      at = child
    }
    all[at] = last
  }

  /** Takes all of them out, in no order. */
  takeAll(): T[] {
    return this.all.splice(0)
  }
}
