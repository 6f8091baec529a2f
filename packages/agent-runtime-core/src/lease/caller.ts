/** In place of a worker, in the row of a lease that its caller holds: it takes nobody's slot. Source: `docs/semantics.md 10.1`. */
export const CALLER = 0
