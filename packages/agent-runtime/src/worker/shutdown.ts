import { describeError, type ExecutionConfig, type Timer, type Timers } from '@ku0/agent-runtime-core'
import type { Deadlines } from '../lease/deadlines.ts'
import type { LogLine } from '../api/logger.ts'
import type { Scheduler } from './scheduler.ts'
import type { WorkerRegistry } from './registry.ts'
import type { StopOptions, StopReport } from '../api/worker.ts'

/** The dependencies of a shutdown. */
export interface ShutdownDeps {
  readonly config: ExecutionConfig
  readonly deadlines: Deadlines
  readonly scheduler: Scheduler
  readonly registry: WorkerRegistry
  readonly log: LogLine
}

/** The leases that callers hold. */
export interface HeldLeases {
  /** Number of leases whose work has not stopped. */
  readonly size: number
  /** Resolves when none is left. */
  idle(): Promise<void>
  /** Aborts the work of every holder. */
  abandon(): Promise<void>
}

/** How long a stop waits. */
export interface Patience extends Disposable {
  /** Resolves when somebody asks for the end at once: from then on only the last writes are waited for. */
  readonly hurry: Promise<void>
  /** Resolves {@link LAST_WRITES_MS} later: from then on nothing is waited for. */
  readonly over: Promise<void>
}

/**
 * Writes that reached the store are committed within some ms, unless another process holds the database. Then
 * they are given up, and the tasks are taken over like those of a process that died.
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
 * Stops the workers of this process. It claims nothing more, and running tasks have their grace. Then what is
 * left is aborted and goes back to the queue with the same attempt. After that handlers and commands, and
 * then the hooks, have `killGraceMs` and `cleanupTimeoutMs` together to end. A second stop request ends these
 * waits. Nothing that runs is ever marked as failed. Source: `docs/semantics.md 5.6`; `docs/reliability.md`
 * A22.
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
  // Hooks run after the commands, however long these take.
  await idleWithin(scheduler, deadlines, config.killGraceMs + config.cleanupTimeoutMs, hurry)
  await Promise.race([attempt(registry.remove(), log), over])
  return { drained: released === 0, released }
}

/**
 * Callers that hold leases have the same grace. Then their work is aborted and their tasks are canceled,
 * because no other process could continue them. Returns true if all were released in time. Source:
 * `docs/semantics.md 5.6, 10.1`.
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

/** Releases the store, which ends the process's registration if the store is closed. */
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

/** A store that accepts no more writes does not keep the process from ending. */
async function attempt(write: Promise<void>, log: LogLine): Promise<void> {
  try {
    await write
  } catch (error) {
    log('warn', 'the store did not accept a write of the shutdown', { error: describeError(error) })
  }
}
