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
}

/** A child as its supervisor knows it. */
export interface SupervisedChild {
  readonly id: string
  readonly restart: ChildRestart
}

/** The key of the wait in which a supervisor stands as long as it supervises. */
export function supervisorKey({ strategy, maxRestarts, periodMs, endsWith }: SupervisorTerms): string {
  return `${SUPERVISOR}${strategy}/${maxRestarts}/${periodMs}/${endsWith}`
}

/** The terms in such a key; undefined for the key of another wait. */
export function supervisorTerms(key: string): SupervisorTerms | undefined {
  if (!key.startsWith(SUPERVISOR)) return undefined
  const [strategy, maxRestarts, periodMs, endsWith] = key.slice(SUPERVISOR.length).split('/')
  const known = supervisionStrategies.find((name) => name === strategy)
  const end = supervisorEnds.find((name) => name === endsWith)
  if (known === undefined || end === undefined) return undefined
  return { strategy: known, maxRestarts: Number(maxRestarts), periodMs: Number(periodMs), endsWith: end }
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
