export interface QuotaRow {
  readonly key: string
  readonly queued: number
  readonly running: number
  readonly windowStart: number
  readonly windowCount: number
  readonly windowTokens: number
  /** No holder starts before: a provider has said so. 0: none ever did. */
  readonly blockedUntil: number
}
