import { CodeCache } from '../host/code-cache.ts'
import { files } from '../place/store-place.ts'
import { warmUp } from '../run/warm-up.ts'
import { measureBackpressure } from './backpressure.ts'
import { measureCancels } from './cancels.ts'
import { measureEdits } from './edits.ts'
import type { Measured } from './figures.ts'
import { measureFollowing } from './follow.ts'
import { measureOrder } from './order.ts'
import { measureRestart } from './restart.ts'
import type { Means } from './scenario-runs.ts'
import { measureTakeover } from './takeover.ts'

/** How much of each promise is measured; nothing of one whose number is 0. */
export interface PromisesPlan {
  readonly restarts: number
  /** Tasks in flight at a restart. */
  readonly inFlight: number
  readonly stops: number
  /** Of the leases of processes that are stopped, in ms. */
  readonly ttl: number
  /** Runs of the same tasks, on each Node. */
  readonly orders: number
  readonly tasks: number
  /** Programs of other versions of Node. */
  readonly nodes: readonly string[]
  readonly bursts: number
  readonly cancels: number
  readonly reconnects: number
  readonly edits: number
  readonly seed: number
}

/** One after the other, each on a machine that does nothing else of ours. `tell` hears when one begins. */
export async function runPromises(
  plan: PromisesPlan,
  tell: (text: string) => void,
  signal: AbortSignal,
): Promise<readonly Measured[]> {
  signal.throwIfAborted()
  using cache = CodeCache.open()
  const compileCache = cache.folder
  const means: Means = { seed: plan.seed, compileCache, signal }
  const parts: readonly (readonly [times: number, what: string, measure: () => Promise<Measured>])[] = [
    [plan.restarts, `restarts with ${plan.inFlight} tasks in flight`, () => measureRestart(plan, means)],
    [plan.stops, `stops of a process, with leases of ${plan.ttl} ms`, () => measureTakeover(plan, means)],
    [plan.orders, `times the same ${plan.tasks} tasks`, () => measureOrder(plan, means)],
    [plan.bursts, 'bursts of submissions', () => measureBackpressure(plan.bursts, means)],
    [plan.cancels, 'storms of cancels', () => measureCancels(plan.cancels, means)],
    [plan.reconnects, 'reconnects of a reader', () => measureFollowing(plan.reconnects, means)],
    [plan.edits, 'edits of an event', () => measureEdits(plan.edits, means)],
  ]
  const measured: Measured[] = []
  await warmUp(compileCache, files, signal)
  for (const [times, what, measure] of parts) {
    signal.throwIfAborted()
    if (times === 0) continue
    tell(`${times} ${what}`)
    measured.push(await measure().catch((error: unknown) => broken(what, error, signal)))
  }
  return measured
}

/** What could not be measured to its end has kept no promise; what ends since it is told to says so. */
function broken(promise: string, error: unknown, signal: AbortSignal): Measured {
  if (signal.aborted) throw error
  return { promise, figures: [], faults: [error instanceof Error ? error.message : String(error)] }
}
