/**
 * Numbers inside, UUIDs outside: the id of a task or lease is made of the store's own random id and its row number, so that
 * no index over ids is needed and the number is read back from the id. Layout (version 8, variant 10):
 * `ssssssss-ssss-8kss-8sss-nnnnnnnnnnnn` with s the store's random digits, k the kind, n the number.
 */
export interface IdCodec {
  task(number: number): string
  lease(number: number): string
  /** The number behind an id of this store and kind; undefined for every other string. */
  taskNumber(id: string): number | undefined
  leaseNumber(id: string): number | undefined
}

/**
 * A life of a store that is over: its copy was restored, or it went on without commits that it had lost. Rows that it numbered up to here keep their ids. Ids that it gave for higher numbers belong to rows that were lost, and mean nothing any more. Source: `docs/reliability.md` D25.
 */
export interface PastIncarnation {
  readonly storeId: string
  /** The last task, and the last lease, that there is of it. */
  readonly tasks: number
  readonly leases: number
}

/**
 * The codec of one store. `storeId` is 17 hex digits, drawn at random when the store was made, and again with each incarnation; `past` are
 * those before, the oldest first.
 */
export function createIdCodec(storeId: string, past: readonly PastIncarnation[] = []): IdCodec {
  const task = codecOf('1', storeId, past, 'tasks')
  const lease = codecOf('2', storeId, past, 'leases')
  return { task: task.idOf, lease: lease.idOf, taskNumber: task.numberOf, leaseNumber: lease.numberOf }
}

function codecOf(
  kind: string,
  storeId: string,
  past: readonly PastIncarnation[],
  counted: 'tasks' | 'leases',
): { readonly idOf: (number: number) => string; readonly numberOf: (id: string) => number | undefined } {
  const own = { prefix: prefixOf(storeId, kind), after: past.at(-1)?.[counted] ?? 0 }
  const older = past
    .map((it, at) => ({
      prefix: prefixOf(it.storeId, kind),
      after: past[at - 1]?.[counted] ?? 0,
      last: it[counted],
    }))
    .toReversed()
  return {
    idOf: (number) => {
      const of = older.findLast(({ last }) => number <= last) ?? own
      return of.prefix + number.toString(16).padStart(12, '0')
    },
    numberOf: (id) => {
      if (id.length !== 36) return undefined
      if (id.startsWith(own.prefix)) return numberIn(id, own.after)
      const of = older.find(({ prefix }) => id.startsWith(prefix))
      return of === undefined ? undefined : numberIn(id, of.after, of.last)
    },
  }
}

function prefixOf(storeId: string, kind: string): string {
  if (!/^[0-9a-f]{17}$/.test(storeId)) throw new TypeError('a store id is 17 hex digits')
  return `${storeId.slice(0, 8)}-${storeId.slice(8, 12)}-8${kind}${storeId.slice(12, 14)}-8${storeId.slice(14, 17)}-`
}

function numberIn(id: string, after: number, last = Number.MAX_SAFE_INTEGER): number | undefined {
  const text = id.slice(24)
  if (/[^0-9a-f]/.test(text)) return undefined
  const number = Number.parseInt(text, 16)
  return number > after && number <= last ? number : undefined
}
