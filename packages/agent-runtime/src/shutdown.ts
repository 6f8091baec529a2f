import { describeError, type ExecutionConfig } from '@ku0/agent-runtime-core'
import type { Deadlines, LogLine, Scheduler, WorkerRegistry } from './execution/index.ts'
import type { StopOptions, StopReport } from './runtime.ts'

/** What a shutdown needs. */
export interface ShutdownDeps {
  readonly config: ExecutionConfig
  readonly deadlines: Deadlines
  readonly scheduler: Scheduler
  readonly registry: WorkerRegistry
  readonly log: LogLine
}

/**
 * Stops the workers of this process: no more claims; running tasks have their grace; what is left is aborted and goes back to
 * the queue, same attempt; then handlers, hooks and commands have `cleanupTimeoutMs` to be over. `hurry` cuts every wait short.
 * Nothing that runs is ever marked as failed. Source: `docs/semantics.md 5.6`; `docs/reliability.md` A22.
 */
export async function shutDownWorkers(
  { config, deadlines, scheduler, registry, log }: ShutdownDeps,
  { drain = true, graceMs = config.drainGraceMs }: StopOptions,
  hurry: Promise<void>,
): Promise<StopReport> {
  scheduler.close()
  const told = attempt(registry.drain(), log)
  if (drain) {
    await Promise.race([told, hurry])
    await idleWithin(scheduler, deadlines, graceMs, hurry)
  }
  const released = scheduler.abandon()
  await idleWithin(scheduler, deadlines, config.cleanupTimeoutMs, hurry)
  await attempt(registry.remove(), log)
  return { drained: released === 0, released }
}

async function idleWithin(
  scheduler: Scheduler,
  deadlines: Deadlines,
  ms: number,
  hurry: Promise<void>,
): Promise<void> {
  const late = Promise.withResolvers<void>()
  const deadline = deadlines.after(ms, late.resolve)
  await Promise.race([scheduler.idle(), late.promise, hurry])
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
