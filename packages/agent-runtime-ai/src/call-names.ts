import { NonRetryableError, type TaskContext } from '@ku0/agent-runtime'

/** The key of one call, and the end of it. */
export interface OpenCall {
  readonly key: string
  close(): void
}

/** The calls of one name in one pass of a handler, or in a branch of it. */
interface NamedCalls {
  count: number
  isOpen: boolean
}

// A context belongs to one pass: what it has counted goes with it.
const calls = new WeakMap<TaskContext, Map<string, NamedCalls>>()

/**
 * The key of the next call of a name: the name and the number of the call, in the order in which the pass makes them. That order is the same in each
 * pass only where the calls come one after the other, so one that begins beside another of its name is refused at once.
 */
export function openCall(ctx: TaskContext, name: string): OpenCall {
  const named = namedCalls(ctx, name)
  if (named.isOpen)
    throw new NonRetryableError(
      `two model calls named '${name}' run side by side, and a later pass could not tell one from the other: give each its own name, such as { name: 'summary of page 3' }`,
      { details: { name } },
    )
  named.isOpen = true
  named.count += 1
  return { key: `${name} ${named.count}`, close: () => void (named.isOpen = false) }
}

/** A key that is used once: the text itself, and with a number behind it when it comes again. */
export function uniqueKey(ctx: TaskContext, text: string): string {
  const named = namedCalls(ctx, text)
  named.count += 1
  return named.count === 1 ? text : `${text} ${named.count}`
}

function namedCalls(ctx: TaskContext, name: string): NamedCalls {
  const ofContext = calls.get(ctx) ?? new Map<string, NamedCalls>()
  calls.set(ctx, ofContext)
  const named = ofContext.get(name) ?? { count: 0, isOpen: false }
  ofContext.set(name, named)
  return named
}
