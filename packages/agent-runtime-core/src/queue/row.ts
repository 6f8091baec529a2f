/** Queued tasks that are first in, first out among themselves. */
export interface StreamRow {
  readonly id: number
  readonly key: string
  readonly laneRank: number
  readonly type: string
  /** The quota keys its tasks hold. */
  readonly quotaKeys: readonly string[]
  /** Promoted queued tasks. */
  readonly depth: number
  /** Queued tasks that are not due yet. */
  readonly delayed: number
  /** The client of the tasks, where that matters; tasks of nobody are the client `''`. */
  readonly client: string
  /** Shared by streams with the same lane, type and quota keys, whichever client they belong to. */
  readonly group: string
  /** No task of it that is queued was submitted before, nor placed before; kept where there are shares. */
  readonly head: number
  readonly place: number
}
