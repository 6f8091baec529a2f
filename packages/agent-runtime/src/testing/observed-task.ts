import type { Branches, TaskContext } from '../api/task-context.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { Life } from './life.ts'
import type { StepLedger } from './step-ledger.ts'
import { isThenable } from '../terms/thenable.ts'

type Method = (...args: readonly unknown[]) => unknown

/**
 * The same task type, with its handler on a context that counts the functions of steps. Once the process is
 * dead, calls of the context never settle, and no step function starts: code cannot be stopped from outside,
 * but here it can be kept from continuing.
 */
export function observedTask(task: TaskDefinition, life: Life, ledger: StepLedger): TaskDefinition {
  const handler: TaskDefinition['handler'] = (ctx, input) =>
    task.handler(observedContext(ctx, life, ledger), input)
  return { ...task, handler }
}

function observedContext(ctx: TaskContext, life: Life, ledger: StepLedger): TaskContext {
  const branching =
    (method: Method): Method =>
    (key, branches, ...rest) =>
      method(
        key,
        observedBranches(branches, (branch) => observedContext(branch, life, ledger)),
        ...rest,
      )
  const wrappers: Readonly<Record<string, (method: Method) => Method>> = {
    step:
      (method) =>
      (key, ...rest) =>
        method(
          key,
          ...rest.slice(0, -1),
          observedStep(rest.at(-1), () => ledger.began(ctx.taskId, String(key)), life),
        ),
    exec:
      (method) =>
      (...args) =>
        duringOf(method(...args) as PromiseLike<unknown>, life),
    race: branching,
    all: branching,
  }
  // They become own methods of the context: the code that finds a call's place looks one frame above the
  // method of `ctx`, which must be the handler.
  for (const [name, wrapped] of Object.entries(wrappers))
    Object.defineProperty(ctx, name, {
      value: wrapped(bound(Reflect.get(ctx, name), ctx) as Method),
      configurable: true,
    })
  return new Proxy(ctx, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || isPlain(name)) return bound(value, target)
      if (life.dead) return never
      life.stir()
      // Bound, not wrapped, for the same reason.
      return bound(value, target)
    },
  })
}

/** Methods that return at once, also in a dead process. */
function isPlain(name: string | symbol): boolean {
  return name === 'onCleanup' || name === 'idempotencyKey' || typeof name === 'symbol'
}

function bound(value: unknown, target: object): unknown {
  return typeof value === 'function' ? (value.bind(target) as unknown) : value
}

function observedBranches(branches: unknown, observe: (ctx: TaskContext) => TaskContext): unknown {
  if (typeof branches !== 'object' || branches === null || Array.isArray(branches)) return branches
  const entries = Object.entries(branches as Branches).map(([name, branch]) => [
    name,
    typeof branch === 'function' ? (ctx: TaskContext) => branch(observe(ctx)) : branch,
  ])
  return Object.fromEntries(entries)
}

function observedStep(fn: unknown, began: () => void, life: Life): unknown {
  if (typeof fn !== 'function') return fn
  const run = fn as (handle: unknown) => unknown
  return (handle: unknown) => {
    if (life.dead) return never()
    began()
    life.stir()
    const result = run(handle)
    if (!isThenable(result)) return result
    return duringOf(result, life)
  }
}

/**
 * Real work, during which time stands still for a while. The original promise is returned, so that its
 * rejection stays the caller's to handle.
 */
function duringOf(work: PromiseLike<unknown>, life: Life): PromiseLike<unknown> {
  life.busy += 1
  const over = () => {
    life.busy -= 1
    life.stir()
  }
  void work.then(over, over)
  return work
}

function never(): Promise<never> {
  return new Promise(() => {})
}
