/** Lets everything run that waits for nothing but its turn. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/**
 * Lets the event loop turn until something holds, for so many ms of real time at the most. What takes longer than a few is a disk, a
 * process, or nothing at all: it is waited for without keeping the processor from it.
 */
export async function turnsUntil(holds: () => boolean, patienceMs: number): Promise<void> {
  const begunAt = realMs()
  for (let waitedMs = 0; !holds() && waitedMs < patienceMs; waitedMs = realMs() - begunAt)
    await new Promise((resolve) => (waitedMs < EAGER_MS ? setImmediate(resolve) : setTimeout(resolve, 1)))
}

const EAGER_MS = 5

/** Real time, for what no test controls: how long something outside takes. */
export function realMs(): number {
  return performance.now()
}
