export interface KeyRow {
  readonly key: string
  readonly task: number
  /** sha256 of type and input; of a fork, also of where it begins. */
  readonly payloadHash: string
}
