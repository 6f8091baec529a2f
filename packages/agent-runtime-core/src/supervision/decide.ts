import type { SupervisedChild, SupervisorTerms } from './supervision.ts'

/** A child of a supervisor, in the order in which they were started. */
interface ChildSeat extends SupervisedChild {
  /** It has not ended. */
  readonly isOpen: boolean
}

/** The facts that decide what follows the end of a child. */
export interface RestartCase extends Pick<SupervisorTerms, 'strategy' | 'maxRestarts' | 'periodMs'> {
  /** In the order in which they were started; the one that ended is among them. */
  readonly children: readonly ChildSeat[]
  readonly ended: string
  readonly how: 'completed' | 'failed' | 'canceled'
  /** When the supervisor started a child again before, in order. */
  readonly times: readonly number[]
  readonly now: number
}

/** The consequence of the end of a child. */
export type RestartDecision =
  /** It stays ended. */
  | { readonly as: 'leave' }
  /** `stop`: the others, the last one first. `start`: all that are started, in order. `times`: the restarts that count from now on. */
  | {
      readonly as: 'restart'
      readonly stop: readonly string[]
      readonly start: readonly string[]
      readonly times: readonly number[]
    }
  /** It was one restart too many: the supervisor itself has failed. */
  | { readonly as: 'escalate'; readonly times: readonly number[] }

/**
 * Decides what a supervisor does about the end of a child. A restart counts as long as `now <= then + period`. A child that ended before stays
 * ended: its result is stored, and no restart of another one takes it back. Source: agent-scheduler-paper 7.1-7.3;
 * `docs/semantics.md 14.1, 14.2`.
 */
export function decideRestart(it: RestartCase): RestartDecision {
  const { children, ended, how, now } = it
  const place = children.findIndex(({ id }) => id === ended)
  const restart = children[place]?.restart ?? 'temporary'
  const isDone =
    how === 'canceled' || restart === 'temporary' || (how === 'completed' && restart === 'transient')
  if (isDone) return { as: 'leave' }

  const times = [...it.times.filter((then) => now <= then + it.periodMs), now]
  if (times.length > it.maxRestarts) return { as: 'escalate', times }
  const from = { one_for_one: children.length, one_for_all: 0, rest_for_one: place }[it.strategy]
  const others = children.filter(({ id, isOpen }, index) => isOpen && id !== ended && index >= from)
  const stays = new Set(others.filter((other) => other.restart !== 'temporary').map(({ id }) => id))
  return {
    as: 'restart',
    stop: others.map(({ id }) => id).toReversed(),
    start: children.map(({ id }) => id).filter((id) => id === ended || stays.has(id)),
    times,
  }
}
