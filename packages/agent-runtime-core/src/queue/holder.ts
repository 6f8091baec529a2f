/** The part of a quota that a task holds. Source: `docs/semantics.md 2.6`. */
export type Holder = 'queued' | 'running' | 'none'
