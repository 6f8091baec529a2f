/** Runs everything that waits only for its turn of the event loop. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/**
 * Runs the event loop until a condition holds, at most for this many ms of real time. After the first few ms
 * the wait is for a disk, a process or nothing, so it leaves the processor to them.
 */
export async function turnsUntil(holds: () => boolean, patienceMs: number): Promise<void> {
  const begunAt = realMs()
  for (let waitedMs = 0; !holds() && waitedMs < patienceMs; waitedMs = realMs() - begunAt)
    await new Promise((resolve) => (waitedMs < EAGER_MS ? setImmediate(resolve) : setTimeout(resolve, 1)))
}

const EAGER_MS = 5

/** Real time, to measure what no test controls. */
export function realMs(): number {
  return performance.now()
}
