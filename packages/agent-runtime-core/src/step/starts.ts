import type { EventData } from '../event/event.ts'
import type { PlainEvent } from '../event/row.ts'
import type { StartedStep } from './doubt.ts'

/**
 * The started steps without a memo, by key, with the starts that a fork inherited. `events`: the events that
 * count, in order; events of other kinds are skipped. `whole`: an event's data with its blob put back.
 * Source: `docs/semantics.md 7.6`.
 */
export function startsIn(
  events: readonly PlainEvent[],
  whole: (event: PlainEvent) => string,
): ReadonlyMap<string, StartedStep> {
  const found = new Map<string, StartedStep>()
  const done = new Set<string>()
  for (const event of events)
    switch (event.type) {
      case 'step.started': {
        const { key, position, inputHash } = JSON.parse(event.data) as EventData['step.started']
        const { starts = 0, effectKey } = found.get(key) ?? {}
        const { seq, at: startedAt } = event
        const input = inputHash === undefined ? {} : { inputHash }
        const known = effectKey === undefined ? {} : { effectKey }
        const started = { key, position, ...input, starts: starts + 1, startedAt, seq, ...known }
        found.set(key, { ...started, inDoubt: true })
        break
      }
      case 'doubt.inherited': {
        const { seq, data } = event
        const started = JSON.parse(data) as EventData['doubt.inherited']
        found.set(started.key, { ...started, seq, inDoubt: true })
        break
      }
      case 'step.failed': {
        const { key, error } = JSON.parse(whole(event)) as { key: string; error: { code?: string } }
        const started = found.get(key)
        if (started !== undefined && !leavesDoubt(error)) found.set(key, { ...started, inDoubt: false })
        break
      }
      case 'step.completed':
      case 'step.inherited':
        done.add((JSON.parse(event.data) as { key: string }).key)
        break
      default:
    }
  for (const key of done) found.delete(key)
  return found
}

/** A step that said how it failed is not in doubt, unless it ran out of time, or failed because it was in doubt. */
function leavesDoubt({ code }: { readonly code?: string }): boolean {
  return code === 'timeout' || code === 'in_doubt'
}
