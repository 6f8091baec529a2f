import type { ExecutionConfig, ExecutionStore, Interest, Read, Write } from '@ku0/agent-runtime-core'
import type { HeldLease } from '../engine/engine.ts'
import type { LineCall } from '../engine/line-answers.ts'
import type { StoreFront } from './front.ts'

/**
 * The calls that the lines of remote workers use on the store, beyond its port. A store that was opened with `lines: true` has it; see
 * {@link linesOf}.
 */
export interface StoreLines {
  readonly config: ExecutionConfig
  /**
   * Applies a write that came over a line, at most once, however often it comes. It is checked first, as a checked store does. `from` is its number among the calls of the line.
   */
  write(operation: Write, from: LineCall): Promise<unknown>
  /** Answers a question that came over a line. It is looked at first, as a checked store does. */
  read(query: Read): Promise<unknown>
  /** Registers workers of processes on lines, or changes their capacity and types. */
  register(workers: Write<'registerWorkers'>['workers']): Promise<unknown>
  /** The demand of a worker; `given` is said when its line has come back: how many tasks it has received. */
  demand(workerId: string, credit: number, given?: number): void
  /** The lines of these workers are silent: they are given nothing, and their leases are not renewed, until their demand is stated again. */
  absent(workerIds: readonly string[]): void
  /** The live leases of workers, as of the next commit. */
  held(workerIds: readonly string[]): Promise<readonly HeldLease[]>
  /** The events that all lines ask for, beside those that the process itself asks for. */
  interest(interest: Interest): void
}

const known = new WeakMap<ExecutionStore, StoreLines>()

/** The lines of a store that was opened with `lines: true`; undefined for any other. */
export function linesOf(store: ExecutionStore): StoreLines | undefined {
  return known.get(store)
}

/** Gives a store its lines. */
export async function withLines(front: StoreFront, config: ExecutionConfig): Promise<void> {
  const { checkedRead, checkedWrite } = await import('../checked/checked-store.ts')
  known.set(front, {
    config,
    write: async (given, from) => {
      const operation = checkedWrite(given)
      return front.writeFrom(
        operation.kind === 'registerWorkers' ? { ...operation, remote: true } : operation,
        from,
      )
    },
    register: (workers) => front.write({ kind: 'registerWorkers', workers, remote: true }),
    read: async (query) => front.read(checkedRead(query)),
    demand: (workerId, credit, given) => front.demand(workerId, credit, given),
    absent: (workerIds) => front.absent(workerIds),
    held: (workerIds) => front.held(workerIds),
    interest: (interest) => front.interestOfLines(interest),
  })
}

/** The same lines for a store that stands in front of it. */
export function passLines(front: StoreFront, store: ExecutionStore): void {
  const lines = known.get(front)
  if (lines !== undefined) known.set(store, lines)
}
