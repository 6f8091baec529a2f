import { InvalidTransition } from '../error/errors.ts'

/** The states of a task. Source: `docs/semantics.md 1.1`. */
export const taskStates = [
  'queued',
  'running',
  'waiting',
  'completed',
  'failed',
  'canceled',
  'rejected',
] as const
export type TaskState = (typeof taskStates)[number]

/** The states of a lease. Source: Track AA, Data Model. */
export const leaseStates = ['running', 'completed', 'failed', 'canceled'] as const
export type LeaseState = (typeof leaseStates)[number]

/** Every legal move of a task; a pair that is not here is refused. Source: `docs/semantics.md 1.1, 1.2`. */
export const taskMoves = {
  queued: ['running', 'canceled', 'failed'],
  running: ['completed', 'failed', 'canceled', 'queued', 'waiting'],
  waiting: ['queued', 'failed', 'canceled'],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
} as const satisfies Record<TaskState, readonly TaskState[]>

/** Every legal move of a lease. Source: `docs/semantics.md 1.4`. */
export const leaseMoves = {
  running: ['completed', 'failed', 'canceled'],
  completed: [],
  failed: [],
  canceled: [],
} as const satisfies Record<LeaseState, readonly LeaseState[]>

/** The states with no way out: a task reaches exactly one of them, once. */
export type FinalState = 'completed' | 'failed' | 'canceled' | 'rejected'

/** Whether a task may move from one state to the other. */
export function canMove(from: TaskState, to: TaskState): boolean {
  return (taskMoves[from] as readonly TaskState[]).includes(to)
}

/** Whether a state has no way out. */
export function isFinal(state: TaskState): state is FinalState {
  return taskMoves[state].length === 0
}

/** Whether a lease may move from one state to the other. */
export function canMoveLease(from: LeaseState, to: LeaseState): boolean {
  return (leaseMoves[from] as readonly LeaseState[]).includes(to)
}

/** Refuses an illegal move of a task with {@link InvalidTransition}; nothing has been written by then. */
export function assertMove(from: TaskState, to: TaskState): void {
  if (!canMove(from, to)) throw new InvalidTransition({ from, to, expected: taskMoves[from] })
}
