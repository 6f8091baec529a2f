/** Whether a submission was refused for how much there is, not for what it is: the same one is taken once there is room. */
export function isPassing(reason: string): boolean {
  return passing.has(reason)
}

/** How long to wait for room after so many refusals, ms. */
export function roomDelay(refusals: number): number {
  return Math.min(MAX_ROOM_MS, MIN_ROOM_MS * 2 ** Math.min(refusals, 10))
}

const passing: ReadonlySet<string> = new Set(['queue_full', 'backpressure', 'quota_exceeded'])
const MIN_ROOM_MS = 100
const MAX_ROOM_MS = 30_000
