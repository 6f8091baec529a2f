import type { TaskState } from './stored-rows.ts'
import type { EventData } from '@ku0/agent-runtime-core'

/** The states of a task as they stand in its row. */
export const [QUEUED, RUNNING, WAITING, COMPLETED, FAILED, CANCELED, REJECTED] = [
  0, 1, 2, 3, 4, 5, 6,
] as const

const stateNames = ['queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'rejected']

export function nameOf(state: number | undefined): string {
  return stateNames[state ?? -1] ?? 'not there'
}

/** A task as its events say it is, and what the audit remembers of it. */
export interface Followed {
  row: TaskState
  /** The number of its program, from its input. */
  name: string
  /** By an error of its own. */
  mayFail: boolean
  memos: Map<string, { seq: number; position: number; result: string }>
  /** The task that it began with the memos of. */
  forkOf?: number
  /** When its waits are due, by key; what a timer has ended. */
  due: Map<string, number>
  fired: Set<string>
  /** Open waits for signals: key and name. */
  signals: Map<string, string>
  divergent: boolean
  /** How often it was sent back to have steps done again. */
  rejections: number
  quotaKeys: string
  lane: number
  policyOfChildren: Map<string, string>
  client: string
  /** What it was said to cost. */
  estimate: number
  spent: Spent
  /** The part of the cost that was told until its end. */
  paid: number
  isBudgeted: boolean
  /** Of a supervisor. */
  strategy?: string
  /** When its lease began, ms since the beginning. */
  leasedAt: number
  /** Only where it is measured. */
  measured?: Measured
}

/** What a task has used up, by its events: tokens and steps as they are, cost in millionths. */
export interface Spent {
  tokens: number
  cost: number
  steps: number
}

/** What the audit knows of a task that is measured. */
interface Measured {
  /** The name of the work that a client holds; undefined for a task of the queue. */
  readonly held: string | undefined
  /** The swarm that it is an agent of, and which of that name. */
  readonly swarm: string | undefined
  readonly of: number | undefined
  /** What it was promised of the swarm's budget, and is held to. */
  readonly share: EventData['task.queued']['share']
  /** What was last said of it. */
  computeUs: number
  memoryBytes: number
}
