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

/** The codec of one store. `storeId` is 17 hex digits drawn at random when the store was made. */
export function createIdCodec(storeId: string): IdCodec {
  if (!/^[0-9a-f]{17}$/.test(storeId)) throw new TypeError('a store id is 17 hex digits')
  const prefix = (kind: string) =>
    `${storeId.slice(0, 8)}-${storeId.slice(8, 12)}-8${kind}${storeId.slice(12, 14)}-8${storeId.slice(14, 17)}-`
  const taskPrefix = prefix('1')
  const leasePrefix = prefix('2')
  return {
    task: (number) => taskPrefix + digits(number),
    lease: (number) => leasePrefix + digits(number),
    taskNumber: (id) => numberOf(id, taskPrefix),
    leaseNumber: (id) => numberOf(id, leasePrefix),
  }
}

function digits(number: number): string {
  return number.toString(16).padStart(12, '0')
}

function numberOf(id: string, prefix: string): number | undefined {
  if (id.length !== 36 || !id.startsWith(prefix)) return undefined
  const text = id.slice(24)
  if (!/^[0-9a-f]{12}$/.test(text)) return undefined
  const number = Number.parseInt(text, 16)
  return number > 0 ? number : undefined
}
