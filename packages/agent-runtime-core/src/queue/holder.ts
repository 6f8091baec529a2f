/** What a task is to the quotas that it names. Source: `docs/semantics.md 2.6`. */
export type Holder = 'queued' | 'running' | 'none'
