import { agentState, type AgentState, invalid, isRecord, show } from '@ku0/agent-runtime-core'
import type { TaskStatus } from '../api/status.ts'

/** A task as an agent of the scheduler paper. Times are epoch ms. Source: `docs/semantics.md 12.0`. */
export interface AgentView {
  readonly taskId: string
  /** The agent's name. */
  readonly agent: string
  readonly state: AgentState
  /** When its pass began; absent while it has not run. */
  readonly startedAt?: number
  readonly finishedAt?: number
  /** Steps whose result is recorded. */
  readonly stepsCompleted: number
  /** Tries beyond the first: by a retry or a lost lease. */
  readonly retries: number
}

/** The result of `runtime.status`, in the paper's words. Throws `invalid_argument` for a value that is no task. Source: `docs/semantics.md 12.0`. */
export function toAgentView(status: TaskStatus): AgentView {
  if (!isRecord(status)) throw invalid(`toAgentView: what runtime.status returns; given ${show(status)}`)
  const { taskId, type, steps, attempt } = status
  const startedAt = 'startedAt' in status ? status.startedAt : undefined
  return {
    taskId,
    agent: type,
    state: agentState(status),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...('finishedAt' in status ? { finishedAt: status.finishedAt } : {}),
    stepsCompleted: steps,
    retries: attempt - 1,
  }
}
