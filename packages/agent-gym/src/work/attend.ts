import type { StepHandle, TaskContext } from '@ku0/agent-runtime'
import { type Notebook, wallNow } from '../host/notes.ts'
import type { Gates } from './gates.ts'
import type { Ledger } from './ledger.ts'

/** What the handlers of one process work with. */
export interface World {
  readonly processName: string
  readonly folders: WorldFolders
  readonly ledger: Ledger
  readonly gates: Gates
  readonly notes: Notebook
  /** Whether passes of no-op tasks are noted; not where throughput is measured. */
  readonly watched: boolean
  /** How often each no-op task was entered, by `n`. */
  readonly visits: Map<number, number>
  /** Signals of the attempts so far, for the count of listeners left on them. */
  readonly signals: AbortSignal[]
}

/** Where a scenario keeps its files. */
interface WorldFolders {
  readonly tree: string
  readonly results: string
  /** One file a tool: the ids of the processes it runs in. */
  readonly tools: string
  /** The file that hanging tools follow. */
  readonly log: string
}

/** A step whose effect the ledger witnesses, after it happened and before its memo is stored. */
export type Effect = <T>(key: string, run: (step: StepHandle) => T | Promise<T>) => Promise<T>

/** The same for a child whose effects the ledger witnesses: it keeps to what the store says of it, since it is not in the plan. */
export async function witnessed<T>(
  world: World,
  ctx: TaskContext,
  handler: (effect: Effect) => Promise<T>,
): Promise<T> {
  return attend(world, ctx, handler, true)
}

/** Notes how a handler is entered, aborted and left. */
export async function attend<T>(
  world: World,
  ctx: TaskContext,
  handler: (effect: Effect) => Promise<T>,
  isWitnessed = ctx.labels['n'] !== undefined,
): Promise<T> {
  const { taskId, attempt, fencingToken: token } = ctx
  const n = Number(ctx.labels['n'] ?? 0)
  const { notes } = world
  notes.add({ kind: 'entered', taskId, n, attempt, token, at: wallNow() })
  const onAbort = () =>
    notes.add({ kind: 'aborted', taskId, token, at: wallNow(), why: nameOf(ctx.signal.reason) })
  ctx.signal.addEventListener('abort', onAbort, { once: true })
  world.signals.push(ctx.signal)
  const effect: Effect = (key, run) =>
    ctx.step(key, async (step) => {
      const result = await run(step)
      const { idempotencyKey } = step
      if (isWitnessed)
        await world.ledger.witness({ taskId, stepKey: key, attempt, fencingToken: token, idempotencyKey })
      return result
    })
  let isPutAside = false
  // What a handler that is put aside awaits never settles.
  ctx.onCleanup((why) => {
    if (why !== 'waiting' && why !== 'yielded') return
    isPutAside = true
    ctx.signal.removeEventListener('abort', onAbort)
    notes.add({ kind: 'left', taskId, n, token, at: wallNow(), how: 'put aside' })
  })
  try {
    const result = await handler(effect)
    notes.add({ kind: 'left', taskId, n, token, at: wallNow(), how: 'returned' })
    return result
  } catch (error) {
    if (!isPutAside)
      notes.add({ kind: 'left', taskId, n, token, at: wallNow(), how: 'threw', error: nameOf(error) })
    throw error
  } finally {
    ctx.signal.removeEventListener('abort', onAbort)
  }
}

export function nameOf(reason: unknown): string {
  const code = (reason as { code?: unknown } | undefined)?.code
  if (typeof code === 'string') return code
  return reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason)
}
