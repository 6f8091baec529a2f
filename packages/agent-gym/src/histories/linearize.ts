import type { Operation } from './operation.ts'
import { absent, apply, type TaskModel } from './task-model.ts'

/** What came of the search for an order. */
export type Linearized =
  | { readonly found: true }
  /** The operations that were put in order at most, and those of which none can come next. */
  | { readonly found: false; readonly longest: readonly Operation[]; readonly stuck: readonly Operation[] }

/** Orders that are tried before a history counts as too hard to judge, which is an error of its makers. */
const maxTried = 200_000

/**
 * Looks for an order of the operations on one task, in which each of them happens at one moment between its call and its answer, and all
 * answers are those of the sequential model: the search of Wing and Gong, with Lowe's memory of what was tried. An operation that was not answered
 * may happen at any time after its call, or never. Throws a RangeError for a history that it cannot judge. Source:
 * `docs/reliability.md` 3.6.
 */
export function linearize(operations: readonly Operation[]): Linearized {
  const ops = operations.toSorted((a, b) => a.invokedAt - b.invokedAt)
  // Who is answered first is tried first: mostly it happened first.
  const order = ops.map((_, i) => i).toSorted((a, b) => endOf(ops[a]) - endOf(ops[b]))
  const required = ops.reduce((bits, op, i) => (op.returnedAt === undefined ? bits : bits | bit(i)), 0n)
  const tried = new Set<string>()
  let longest: readonly number[] = []
  let stuck: readonly number[] = []

  const search = (done: bigint, task: TaskModel, path: readonly number[]): boolean => {
    if ((done & required) === required) return true
    const mark = `${done.toString(36)} ${JSON.stringify(task)}`
    if (tried.has(mark)) return false
    if (tried.size === maxTried) throw new RangeError(`no verdict on ${ops.length} operations`)
    tried.add(mark)
    const left = order.filter((i) => (done & bit(i)) === 0n)
    // Whatever is called after another was answered comes after it.
    const deadline = endOf(ops[left[0] ?? 0])
    const next = left.filter((i) => (ops[i] as Operation).invokedAt <= deadline)
    if (path.length >= longest.length) [longest, stuck] = [path, next]
    const moves = next.flatMap((i) => {
      const { deed, returnedAt } = ops[i] as Operation
      const after = apply(task, deed)
      return after === undefined ? [] : [{ i, after, isAnswered: returnedAt !== undefined }]
    })
    // What is answered rightly and changes nothing may as well happen now.
    const look = moves.find(({ after, isAnswered }) => isAnswered && after === task)
    if (look !== undefined) return search(done | bit(look.i), task, [...path, look.i])
    return moves.some(({ i, after }) => after !== task && search(done | bit(i), after, [...path, i]))
  }
  if (search(0n, absent, [])) return { found: true }
  const named = (indexes: readonly number[]) => indexes.map((i) => ops[i] as Operation)
  return { found: false, longest: named(longest), stuck: named(stuck) }
}

function endOf(operation: Operation | undefined): number {
  return operation?.returnedAt ?? Infinity
}

function bit(i: number): bigint {
  return 1n << BigInt(i)
}
