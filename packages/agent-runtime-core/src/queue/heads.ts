import { comesBefore, type Head } from './order.ts'

/** Heads of streams, of which the first is always known: a binary heap, so that a start costs little however many streams there are. */
export class Heads<H extends Head> {
  private readonly all: H[] = []

  get first(): H | undefined {
    return this.all[0]
  }

  add(head: H): void {
    const { all } = this
    let at = all.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = all[parent] as H
      if (!comesBefore(head, above)) break
      all[at] = above
      at = parent
    }
    all[at] = head
  }

  removeFirst(): void {
    const { all } = this
    const last = all.pop()
    if (last === undefined || all.length === 0) return
    let at = 0
    for (let child = 1; child < all.length; child = 2 * at + 1) {
      const right = all[child + 1]
      if (right !== undefined && comesBefore(right, all[child] as H)) child += 1
      const below = all[child] as H
      if (!comesBefore(below, last)) break
      all[at] = below
      at = child
    }
    all[at] = last
  }
}
