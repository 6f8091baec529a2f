import { describeError, type ExecutionConfig, type Timer, type Timers } from '@ku0/agent-runtime-core'
import type { Deadlines } from '../lease/deadlines.ts'
import type { LogLine } from '../api/logger.ts'
import type { Scheduler } from './scheduler.ts'
import type { WorkerRegistry } from './registry.ts'
import type { StopOptions, StopReport } from '../api/worker.ts'

/** What a shutdown needs. */
export interface ShutdownDeps {
  readonly config: ExecutionConfig
  readonly deadlines: Deadlines
  readonly scheduler: Scheduler
  readonly registry: WorkerRegistry
  readonly log: LogLine
}

/** The leases that callers hold. */
export interface HeldLeases {
  /** Those whose work has not stopped. */
  readonly size: number
  /** Resolves when there is none. */
  idle(): Promise<void>
  /** Tells every holder to stop. */
  abandon(): Promise<void>
}

/** How long a stop waits. */
export interface Patience extends Disposable {
  /** Resolves when somebody asks for the end at once: from then on nothing but the last writes is waited for. */
  readonly hurry: Promise<void>
  /** Resolves {@link LAST_WRITES_MS} later: from then on nothing is waited for. */
  readonly over: Promise<void>
}

/**
 * What was handed to the store is committed in some ms, unless another process holds the database: then it is given up, and
 * the tasks are taken over as those of a process that died.
 */
const LAST_WRITES_MS = 500

export function patienceOf(hurry: Promise<void>, timers: Timers): Patience {
  const over = Promise.withResolvers<void>()
  let timer: Timer | undefined
  let waiting = true
  const arm = () => {
    if (waiting) timer = timers.after(LAST_WRITES_MS, over.resolve)
  }
  void hurry.then(arm)
  const dispose = () => {
    waiting = false
    timer?.cancel()
  }
  return { hurry, over: over.promise, [Symbol.dispose]: dispose }
}

/**
 * Stops the workers of this process: no more claims; running tasks have their grace; what is left is aborted and goes back to
 * the queue, same attempt; then handlers and commands, and the hooks after these, have `killGraceMs` and `cleanupTimeoutMs` together to be over.
 * Who is in a hurry waits for none of it.
 * Nothing that runs is ever marked as failed. Source: `docs/semantics.md 5.6`; `docs/reliability.md` A22.
 */
export async function shutDownWorkers(
  { config, deadlines, scheduler, registry, log }: ShutdownDeps,
  { drain = true, graceMs = config.drainGraceMs }: StopOptions,
  { hurry, over }: Patience,
): Promise<StopReport> {
  scheduler.close()
  const told = attempt(registry.drain(), log)
  if (drain) {
    await Promise.race([told, hurry])
    await idleWithin(scheduler, deadlines, graceMs, hurry)
  }
  const released = scheduler.abandon()
  // Hooks come after the commands, however long these take.
  await idleWithin(scheduler, deadlines, config.killGraceMs + config.cleanupTimeoutMs, hurry)
  await Promise.race([attempt(registry.remove(), log), over])
  return { drained: released === 0, released }
}

/**
 * Callers that hold leases have the same grace; then they are told to stop, and their tasks are canceled, since nobody else could go on
 * with them. True when all were released in time. Source: `docs/semantics.md 5.6, 10.1`.
 */
export async function shutDownLeases(
  desk: HeldLeases,
  { config, deadlines }: Pick<ShutdownDeps, 'config' | 'deadlines'>,
  { drain = true, graceMs = config.drainGraceMs }: StopOptions,
  { hurry, over }: Patience,
): Promise<boolean> {
  if (drain) await idleWithin(desk, deadlines, graceMs, hurry)
  const left = desk.size
  if (left > 0) await Promise.race([desk.abandon(), over])
  return left === 0
}

/** Lets the store go, which ends the process's registration in it if the store is closed. */
export async function closeWithin(
  { over }: Patience,
  release: () => Promise<void>,
  log: LogLine,
): Promise<void> {
  const closed = release().catch((error: unknown) =>
    log('warn', 'the store did not close', { error: describeError(error) }),
  )
  await Promise.race([closed, over])
}

async function idleWithin(
  who: { idle(): Promise<void> },
  deadlines: Deadlines,
  ms: number,
  hurry: Promise<void>,
): Promise<void> {
  const late = Promise.withResolvers<void>()
  const deadline = deadlines.after(ms, late.resolve)
  await Promise.race([who.idle(), late.promise, hurry])
  deadline.cancel()
}

/** A store that takes no more writes does not keep the process from ending. */
async function attempt(write: Promise<void>, log: LogLine): Promise<void> {
  try {
    await write
  } catch (error) {
    log('warn', 'the store did not take a write of the shutdown', { error: describeError(error) })
  }
}
