import { describeError, type Environment, type ExecutionConfig } from '@ku0/agent-runtime-core'
import { Deadlines } from '../lease/deadlines.ts'
import type { LogLine } from '../api/logger.ts'
import type { Scheduler } from './scheduler.ts'
import type { WorkerRegistry } from './registry.ts'
import type { StopOptions, StopReport } from '../api/stop.ts'

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

/** How long a stop waits. Source: `docs/semantics.md 5.6`. */
export interface Patience extends Disposable {
  /** Resolves when somebody asks for the end at once: from then on only the last writes are waited for. */
  readonly hurry: Promise<void>
  /** Resolves when running tasks have had their grace. */
  readonly graceOver: Promise<void>
  /**
   * Resolves {@link LAST_WRITES_MS} after `hurry`, or after all that a stop may take: from then on nothing is
   * waited for, whoever holds the database and whether or not it answers.
   */
  readonly over: Promise<void>
  /** Waits for something until {@link over}; what has not ended by then is named in {@link left}. */
  readonly last: (what: string, done: Promise<unknown>) => Promise<void>
  /** The names of all that was not waited for. */
  readonly left: readonly string[]
}

/**
 * Writes that reached the store are committed within some ms, unless another process holds the database. Then
 * they are given up, and the tasks are taken over like those of a process that died.
 */
const LAST_WRITES_MS = 500

/** The patience of a stop that begins now: its grace, then the time of handlers and hooks to end, and {@link LAST_WRITES_MS}. */
export function patienceOf(
  hurry: Promise<void>,
  {
    config,
    environment: { clock, timers },
  }: {
    readonly config: Pick<ExecutionConfig, 'drainGraceMs' | 'killGraceMs' | 'cleanupTimeoutMs'>
    readonly environment: Pick<Environment, 'clock' | 'timers'>
  },
  { drain = true, graceMs = config.drainGraceMs }: StopOptions,
): Patience {
  const [graceOver, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const deadlines = new Deadlines(clock, timers)
  const grace = drain ? graceMs : 0
  deadlines.after(grace, graceOver.resolve)
  deadlines.after(grace + config.killGraceMs + config.cleanupTimeoutMs + LAST_WRITES_MS, over.resolve)
  let waiting = true
  const hasten = () => {
    if (waiting) deadlines.after(LAST_WRITES_MS, over.resolve)
  }
  void hurry.then(hasten)
  const left = new Set<string>()
  return {
    hurry,
    graceOver: graceOver.promise,
    over: over.promise,
    async last(what, done) {
      left.add(what)
      const ended = done.finally(() => left.delete(what))
      await Promise.race([ended, over.promise])
    },
    get left() {
      return [...left]
    },
    [Symbol.dispose]: () => {
      waiting = false
      deadlines.close()
    },
  }
}

/**
 * Stops the workers of this process. It claims nothing more, and running tasks have their grace. Then what is
 * left is aborted and goes back to the queue with the same attempt. After that handlers and commands, and
 * then the hooks, have `killGraceMs` and `cleanupTimeoutMs` together to end. A second stop request ends these
 * waits. Nothing that runs is ever marked as failed. A store that does not answer makes none of it longer.
 * Source: `docs/semantics.md 5.6`; `docs/reliability.md` A22.
 */
export async function shutDownWorkers(
  { config, deadlines, scheduler, registry, log }: ShutdownDeps,
  { drain = true }: StopOptions,
  patience: Patience,
): Promise<StopReport> {
  const { hurry, graceOver } = patience
  scheduler.close()
  const told = attempt(registry.drain(), log)
  if (drain) {
    await Promise.race([told, graceOver, hurry])
    await Promise.race([scheduler.idle(), graceOver, hurry])
  }
  const released = scheduler.abandon()
  // Hooks run after the commands, however long these take.
  await idleWithin(scheduler, deadlines, config.killGraceMs + config.cleanupTimeoutMs, hurry)
  await patience.last('the removal of its workers', attempt(registry.remove(), log))
  const { unsettled } = scheduler
  return { drained: released === 0 && unsettled === 0, released: released + unsettled }
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
  patience: Patience,
): Promise<boolean> {
  if (drain) await idleWithin(desk, deadlines, graceMs, patience.hurry)
  const left = desk.size
  if (left > 0) await patience.last('the end of leases that callers hold', desk.abandon())
  return left === 0
}

/** Releases the store, which ends the process's registration if the store is closed. Logs what nothing was waited for. */
export async function closeWithin(
  patience: Patience,
  release: () => Promise<void>,
  { log, released }: { readonly log: LogLine; readonly released: number },
): Promise<void> {
  const closed = release().catch((error: unknown) =>
    log('warn', 'the store did not close', { error: describeError(error) }),
  )
  await patience.last('the close of the store', closed)
  const { left } = patience
  if (left.length > 0)
    log(
      'warn',
      'the store did not answer in time, and the stop did not wait for it: other processes take over what is left when its leases end',
      { left, tasks: released },
    )
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
