/**
 * The rows of one table in a flush: committed ones below, changes on top. A row is never changed: a change is a new row, put under the
 * same key. `Gone` is `undefined` where rows can be dropped.
 */
export class Rows<K, V, Gone extends undefined = never> {
  private readonly base: ReadonlyMap<K, V>
  /** Made when something is put: a flush changes few of its tables. */
  private own: Map<K, V | Gone> | undefined

  constructor(base: ReadonlyMap<K, V>) {
    this.base = base
  }

  /** The row as this flush has left it so far; undefined if it does not exist, or was not loaded. */
  get(key: K): V | undefined {
    const { own } = this
    return own?.has(key) ? own.get(key) : this.base.get(key)
  }

  put(key: K, row: V): void {
    this.own ??= new Map()
    this.own.set(key, row)
  }

  drop(this: Rows<K, V, undefined>, key: K): void {
    this.own ??= new Map()
    this.own.set(key, undefined)
  }

  /** Every row that there is by now: those that were there before in their order, then new ones. */
  *all(): Iterable<V> {
    for (const [key, before] of this.base) {
      const row = this.own?.has(key) ? this.own.get(key) : before
      if (row !== undefined) yield row
    }
    for (const [key, row] of this.changed) if (row !== undefined && !this.base.has(key)) yield row
  }

  /** The rows that this flush has put, by key; undefined for a row that it has dropped. */
  get changed(): ReadonlyMap<K, V | Gone> {
    return this.own ?? nothing
  }
}

const nothing: ReadonlyMap<never, never> = new Map<never, never>()
