import { RESERVED } from '../wait/wait.ts'

/** Which children are started again with one that failed. Source: agent-scheduler-paper 7.1; `docs/semantics.md 14.1`. */
export const supervisionStrategies = ['one_for_one', 'one_for_all', 'rest_for_one'] as const
export type SupervisionStrategy = (typeof supervisionStrategies)[number]

/**
 * When a child is started again: after each end but a cancellation (`permanent`), after a failure only (`transient`), or never
 * (`temporary`).
 */
export const childRestarts = ['permanent', 'transient', 'temporary'] as const
export type ChildRestart = (typeof childRestarts)[number]

/** When a supervisor is done: when no child is left, or only when it is canceled. */
export const supervisorEnds = ['children', 'cancel'] as const
export type SupervisorEnd = (typeof supervisorEnds)[number]

/** The terms of a supervisor. They stand in the key of its wait, so they are fixed when it begins. */
export interface SupervisorTerms {
  readonly strategy: SupervisionStrategy
  /** So many restarts within `periodMs`; one more ends the supervisor. */
  readonly maxRestarts: number
  readonly periodMs: number
  readonly endsWith: SupervisorEnd
  /** How long a child may take to stop; without it the task type of the child decides. */
  readonly shutdownMs?: number
}

/** A child as its supervisor knows it. */
export interface SupervisedChild {
  readonly id: string
  readonly restart: ChildRestart
}

/** How far another child has to be before one starts: it has completed; or it has said that it is ready, or completed. */
export const siblingStates = ['completed', 'ready'] as const
export type SiblingState = (typeof siblingStates)[number]

/** A child that another one of its supervisor waits for before it starts. Source: `docs/semantics.md 14.2`. */
export interface Sibling extends SupervisedChild {
  readonly until: SiblingState
}

/** The key of the `nth` wait of a supervisor, from 0, for what has to come before a child. */
export function afterKey(nth: number, id: string, after: readonly Sibling[]): string {
  const siblings = after.map((it) => `${it.until}/${it.restart}/${it.id}`)
  return `${AFTER}${[nth, id, ...siblings].join('/')}`
}

/** The child of such a key, and what has to come before it; undefined for the key of another wait. */
export function afterIn(
  key: string,
): { readonly id: string; readonly after: readonly Sibling[] } | undefined {
  if (!key.startsWith(AFTER)) return undefined
  const [, id = '', ...parts] = key.slice(AFTER.length).split('/')
  const after: Sibling[] = []
  for (let at = 0; at < parts.length; at += 3) {
    const until = siblingStates.find((name) => name === parts[at])
    const restart = childRestarts.find((name) => name === parts[at + 1])
    const sibling = parts[at + 2]
    if (until !== undefined && restart !== undefined && sibling !== undefined)
      after.push({ id: sibling, restart, until })
  }
  return { id, after }
}

/** Words for such a wait. */
export function afterText({
  id,
  after,
}: {
  readonly id: string
  readonly after: readonly Sibling[]
}): string {
  const siblings = after.map(
    ({ id: sibling, until }) => `'${sibling}' ${until === 'ready' ? 'is ready' : 'has completed'}`,
  )
  return `the moment for child '${id}' to start, once ${siblings.join(' and ')}`
}

/** The key of the step as which a task records that it is ready. */
export const READY_KEY = `${RESERVED}ready`

/** The key of the wait in which a supervisor stands as long as it supervises. */
export function supervisorKey(terms: SupervisorTerms): string {
  const { strategy, maxRestarts, periodMs, endsWith, shutdownMs } = terms
  const shutdown = shutdownMs === undefined ? '' : `/${shutdownMs}`
  return `${SUPERVISOR}${strategy}/${maxRestarts}/${periodMs}/${endsWith}${shutdown}`
}

/** The terms in such a key; undefined for the key of another wait. */
export function supervisorTerms(key: string): SupervisorTerms | undefined {
  if (!key.startsWith(SUPERVISOR)) return undefined
  const [strategy, maxRestarts, periodMs, endsWith, shutdown] = key.slice(SUPERVISOR.length).split('/')
  const known = supervisionStrategies.find((name) => name === strategy)
  const end = supervisorEnds.find((name) => name === endsWith)
  if (known === undefined || end === undefined) return undefined
  return {
    strategy: known,
    maxRestarts: Number(maxRestarts),
    periodMs: Number(periodMs),
    endsWith: end,
    ...(shutdown === undefined ? {} : { shutdownMs: Number(shutdown) }),
  }
}

/** The key under which a supervisor has a child. */
export function supervisedKey({ id, restart }: SupervisedChild): string {
  return `${SUPERVISED}${restart}/${id}`
}

/** The child of such a key; undefined for a child that is not supervised. */
export function supervisedIn(key: string): SupervisedChild | undefined {
  if (!key.startsWith(SUPERVISED)) return undefined
  const slash = key.indexOf('/', SUPERVISED.length)
  const restart = childRestarts.find((name) => name === key.slice(SUPERVISED.length, slash))
  return restart === undefined ? undefined : { id: key.slice(slash + 1), restart }
}

/** The name under which nothing arrives: the wait of a supervisor ends with its children. */
export const SUPERVISOR_NAME = `${RESERVED}supervisor`
/** The name under which a supervisor's restarts are kept, as long as they count. */
export const RESTART_NAME = `${RESERVED}restart`

const SUPERVISOR = `${SUPERVISOR_NAME}/`
const SUPERVISED = `${RESERVED}supervised/`
const AFTER = `${RESERVED}after/`
