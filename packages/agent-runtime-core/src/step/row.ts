export interface CheckpointRow {
  readonly task: number
  readonly seq: number
  readonly data: string
  readonly at: number
}

export interface OutputRow {
  readonly task: number
  readonly seq: number
  readonly attempt: number
  readonly at: number
  readonly data: string
  /** Null where no later pass would emit it again. */
  readonly round: number | null
}
