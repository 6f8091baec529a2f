import { RuntimeError } from '../error/errors.ts'
import type { WaitReason } from '../wait/wait.ts'
import { show } from '../check/show.ts'
import { taskStates, type TaskState } from './states.ts'

/** The life of an agent in the scheduler paper's words. Source: agent-scheduler-paper 3.2; `docs/semantics.md 12.0`. */
export const agentStates = [
  'pending',
  'running',
  'waiting_approval',
  'checkpointed',
  'completed',
  'failed',
  'cancelled',
] as const
export type AgentState = (typeof agentStates)[number]

/** The facts that decide a task's agent state; a task's record and its status have them. */
export type AgentCase =
  | { readonly state: Exclude<TaskState, 'running' | 'waiting'> }
  | { readonly state: 'running'; readonly checkpointed: boolean }
  | { readonly state: 'waiting'; readonly waitingFor: WaitReason }

/**
 * A task as an agent. A waiting task is checkpointed, except while it waits for an approval, and so is a task
 * that runs from a checkpoint to the end of its next step or wait. Throws `invalid_argument` for a value that
 * is not a task. Source: `docs/semantics.md 12.0`.
 */
export function agentState(task: AgentCase): AgentState {
  if (!isCase(task))
    throw new RuntimeError(
      'invalid_argument',
      `agentState: a task as runtime.status gives it; given ${show(task)}`,
    )
  switch (task.state) {
    case 'queued':
      return 'pending'
    case 'running':
      return task.checkpointed ? 'checkpointed' : 'running'
    case 'waiting':
      return task.waitingFor === 'approval' ? 'waiting_approval' : 'checkpointed'
    case 'completed':
      return 'completed'
    case 'failed':
    case 'rejected':
      return 'failed'
    case 'canceled':
      return 'cancelled'
  }
}

function isCase(task: unknown): task is AgentCase {
  try {
    return taskStates.includes((task as AgentCase).state)
  } catch {
    return false
  }
}

/** A move of an agent, and what makes it: the paper's, or one of ours, and then why. */
export interface AgentMove {
  readonly from: AgentState
  readonly to: AgentState
  readonly by: string
  readonly why?: string
}

/** The transition table of the paper, its "any cancellable state" written out. Source: agent-scheduler-paper 12. */
export const paperAgentMoves = [
  { from: 'pending', to: 'running', by: 'assign_job/2' },
  { from: 'pending', to: 'cancelled', by: 'cancel/1' },
  { from: 'running', to: 'cancelled', by: 'cancel/1' },
  { from: 'waiting_approval', to: 'cancelled', by: 'cancel/1' },
  { from: 'checkpointed', to: 'cancelled', by: 'cancel/1' },
  { from: 'running', to: 'waiting_approval', by: 'request_approval/2' },
  { from: 'running', to: 'checkpointed', by: 'checkpoint/1' },
  { from: 'running', to: 'completed', by: 'complete/2' },
  { from: 'running', to: 'failed', by: 'a step raises' },
  { from: 'waiting_approval', to: 'running', by: 'respond_approval(:approve)' },
  { from: 'waiting_approval', to: 'pending', by: 'respond_approval(:reject), retries left' },
  { from: 'waiting_approval', to: 'failed', by: 'respond_approval(:reject), none left' },
  { from: 'checkpointed', to: 'running', by: 'execute_step/3' },
] as const satisfies readonly AgentMove[]

/** The paper's moves that no task makes. */
export const refusedAgentMoves = [
  {
    from: 'waiting_approval',
    to: 'running',
    by: 'respond_approval(:approve)',
    why: 'a task that waits holds no slot: approved, it is pending until it has one again',
  },
] as const satisfies readonly AgentMove[]

/** The moves that tasks make and the paper's table does not have. */
export const addedAgentMoves = [
  {
    from: 'running',
    to: 'pending',
    by: 'requeue',
    why: 'a lost lease, a retry or a yield: in the paper the supervisor starts a crashed agent anew, beside its table',
  },
  {
    from: 'pending',
    to: 'failed',
    by: 'a budget that is exceeded',
    why: 'what a child used up ends the task above it, which may be in the queue just then',
  },
  {
    from: 'checkpointed',
    to: 'pending',
    by: 'requeue, or the end of a wait',
    why: 'the same from a checkpoint; and what waited is given a slot in its turn, not at once',
  },
  {
    from: 'checkpointed',
    to: 'waiting_approval',
    by: 'request_approval/2',
    why: 'a handler may ask right after a checkpoint: no step has to come between',
  },
  {
    from: 'checkpointed',
    to: 'completed',
    by: 'complete/2',
    why: 'a handler may return right after a checkpoint',
  },
  {
    from: 'checkpointed',
    to: 'failed',
    by: 'an error leaves the handler',
    why: 'a handler may throw right after a checkpoint',
  },
] as const satisfies readonly AgentMove[]

/** Whether a task may be seen to move so: the paper's table without what is refused, and with what is added. */
export function canAgentMove(from: AgentState, to: AgentState): boolean {
  const names = (move: AgentMove) => move.from === from && move.to === to
  return !refusedAgentMoves.some(names) && [...paperAgentMoves, ...addedAgentMoves].some(names)
}
