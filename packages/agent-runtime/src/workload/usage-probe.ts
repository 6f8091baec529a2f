import type { UsageSample } from '@ku0/agent-runtime-core'

/**
 * Measures what a lease uses, where something can: it is asked every `heartbeatIntervalMs`, and what it says counts against the limits. It
 * is no heartbeat of the holder's. Undefined: nothing is known just now. Source: `docs/semantics.md 10.5`.
 */
export type UsageProbe = () => UsageSample | undefined | PromiseLike<UsageSample | undefined>
