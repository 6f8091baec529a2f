/** Lets everything run that waits for nothing but its turn. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Lets the event loop turn until something holds, for so many ms of real time at the most. */
export async function turnsUntil(holds: () => boolean, patienceMs: number): Promise<void> {
  const begunAt = realMs()
  while (!holds() && realMs() - begunAt < patienceMs) await new Promise((resolve) => setImmediate(resolve))
}

/** Real time, for what no test controls: how long something outside takes. */
export function realMs(): number {
  return performance.now()
}
