/** What the work below takes on the machine for which bars in ms are set, while that does nothing else, in ms. */
const quickMs = 40

/** Enough of it that a machine with much other work interrupts it. */
const rounds = 100_000

/**
 * How long `run` takes, in ms of the machine for which bars in ms are set: the time is divided by how many times longer a piece of work takes here, right before it or right after.
 * So a bar holds on a slow machine, and on a busy one.
 */
export async function scaledMs(run: () => unknown): Promise<number> {
  const before = slowness()
  const began = performance.now()
  await run()
  const tookMs = performance.now() - began
  return tookMs / Math.max(before, slowness())
}

/** How many times longer than on that machine a piece of work takes now, at least once as long. */
export function slowness(): number {
  const began = performance.now()
  let text = '{"n":0,"of":["a","b","c"]}'
  for (let round = 0; round < rounds; round += 1) {
    const it = JSON.parse(text) as { readonly n: number; readonly of: readonly string[] }
    text = JSON.stringify({ n: it.n + 1, of: it.of.toReversed() })
  }
  return Math.max(1, (performance.now() - began) / quickMs)
}
