export interface CheckpointRow {
  readonly task: number
  readonly seq: number
  readonly data: string
  readonly at: number
}

export interface OutputRow {
  /** The id of a task that the flush does not change, for those who follow its output. */
  readonly taskId?: string
  readonly task: number
  readonly seq: number
  readonly attempt: number
  readonly at: number
  readonly data: string
  /** Null where no later pass would emit it again. */
  readonly round: number | null
}
