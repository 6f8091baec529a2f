import {
  agentState,
  type AgentState,
  assertOptions,
  defaultOversightMode,
  invalid,
  isRecord,
  type OversightMode,
  type Rules,
  show,
} from '@ku0/agent-runtime-core'
import type { StoredCheckpoint, StoredStep } from '../api/client.ts'
import type { RuntimeEvent } from '../api/events.ts'
import type { TaskStatus } from '../api/status.ts'
import type { AgentProfile } from './define-agent.ts'

/** A task as an agent of the scheduler paper, with each field of its record. Times are epoch ms. Source: agent-scheduler-paper 3.1; `docs/semantics.md 12.0`. */
export interface AgentView {
  readonly taskId: string
  /** The agent's name. */
  readonly agent: string
  /** As {@link AgentSources} has it. */
  readonly profile?: AgentProfile
  readonly state: AgentState
  /** When its pass began; absent while it has not run. */
  readonly startedAt?: number
  readonly finishedAt?: number
  /** The input of the task; absent where it is no longer kept. */
  readonly currentJob?: unknown
  /** The newest checkpoint, or the artifact that a person is asked about, if that is newer. Absent before the first. */
  readonly checkpointData?: unknown
  /** Credits that are set aside for it: its estimated cost, 0 without one. */
  readonly credits: number
  /** As the paper counts them: from the events of {@link AgentSources}, and steps alone without events. */
  readonly metrics: AgentMetrics
  /** The mode of its profile, or else of its last request for approval. */
  readonly oversight: OversightMode
  /** The recorded results by the keys of their steps; absent without the steps of {@link AgentSources}. */
  readonly memoStore?: Readonly<Record<string, unknown>>
  /** The paper's `retry_count`: rejections since the last approval, as far as its events are known. */
  readonly rejections: number
  /** The most rejections that send it back; the next one fails it. 3 before its first request. */
  readonly maxRetries: number
  /** Steps whose result is recorded. */
  readonly stepsCompleted: number
  /** Tries beyond the first: by a retry or a lost lease. The paper's supervisor does not count them. */
  readonly retries: number
}

/** Source: agent-scheduler-paper 6.3. */
export interface AgentMetrics {
  readonly stepsCompleted: number
  /** The time of all steps that were recorded, ms. */
  readonly totalExecutionMs?: number
  /** Tries of steps that failed. */
  readonly errors?: number
  /** Results that a later pass got from the record: the `step.replayed` among the events, which only listeners are given. */
  readonly stepsCached?: number
}

/** The facts about an agent that the status of its task does not have: each is optional. */
export interface AgentSources {
  /** The one that {@link defineAgent} returned. */
  readonly profile?: AgentProfile | undefined
  /** All its events in order: the `events` of each page of `runtime.history`, or what `runtime.on` gave. */
  readonly events?: readonly RuntimeEvent[] | undefined
  /** All its steps: the `steps` of each page of `runtime.steps`. */
  readonly steps?: readonly StoredStep[] | undefined
  /** The one that `runtime.checkpoint` returns. */
  readonly checkpoint?: StoredCheckpoint | undefined
}

/** The result of `runtime.status`, in the paper's words, with what else is known of the task. Throws `invalid_argument` for a value that is no task. Source: `docs/semantics.md 12.0`. */
export function toAgentView(status: TaskStatus, known: AgentSources = {}): AgentView {
  if (!isRecord(status)) throw invalid(`toAgentView: what runtime.status returns; given ${show(status)}`)
  assertOptions('toAgentView', known, sourceRules)
  const { taskId, type, steps, attempt, cost = 0 } = status
  const { profile } = known
  const startedAt = 'startedAt' in status ? status.startedAt : undefined
  const requests = asked(known.events)
  const checkpointData = latestCheckpoint(known, requests.last)
  return {
    taskId,
    agent: type,
    ...(profile === undefined ? {} : { profile }),
    state: agentState(status),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...('finishedAt' in status ? { finishedAt: status.finishedAt } : {}),
    ...('input' in status ? { currentJob: status.input } : {}),
    ...(checkpointData === undefined ? {} : { checkpointData }),
    credits: cost,
    metrics: metricsOf(steps, known.events),
    oversight: profile?.mode ?? requests.last?.data.mode ?? defaultOversightMode,
    ...(known.steps === undefined
      ? {}
      : { memoStore: Object.fromEntries(known.steps.map(({ key, result }) => [key, result])) }),
    rejections: requests.rejections,
    maxRetries: requests.last?.data.maxRetries ?? MAX_RETRIES,
    stepsCompleted: steps,
    retries: attempt - 1,
  }
}

type Request = Extract<RuntimeEvent, { type: 'approval.requested' }>

/** Its last request for approval, and how often it was rejected since it was last approved. */
function asked(events: readonly RuntimeEvent[] = []): {
  readonly last: Request | undefined
  readonly rejections: number
} {
  let last: Request | undefined
  let rejections = 0
  for (const event of events) {
    if (event.type === 'approval.requested') last = event
    const isVerdict = event.type === 'task.resumed' || event.type === 'wait.resolved'
    if (!isVerdict || event.data.key === undefined || event.data.kind !== 'approval') continue
    const { outcome, since } = event.data
    if (outcome === 'approved' || outcome === 'passed') rejections = 0
    // A rejection that the handler gets as an error does not send it back.
    else if (outcome === 'rejected' && since !== undefined) rejections += 1
  }
  return { last, rejections }
}

function latestCheckpoint({ checkpoint }: AgentSources, request: Request | undefined): unknown {
  if (checkpoint === undefined || (request !== undefined && request.seq > checkpoint.seq))
    return request?.data.artifact
  return checkpoint.data
}

function metricsOf(stepsCompleted: number, events: readonly RuntimeEvent[] | undefined): AgentMetrics {
  if (events === undefined) return { stepsCompleted }
  let totalExecutionMs = 0
  let errors = 0
  let stepsCached = 0
  for (const event of events)
    if (event.type === 'step.completed') totalExecutionMs += event.data.durationMs
    else if (event.type === 'step.failed') errors += 1
    else if (event.type === 'step.replayed') stepsCached += 1
  return { stepsCompleted, totalExecutionMs, errors, stepsCached }
}

/** A request that names no other number has this one. */
const MAX_RETRIES = 3

const sourceRules: Rules<AgentSources> = {
  profile: ['the profile of an agent, as defineAgent returns it', isRecord],
  events: ['the events of what runtime.history returns', Array.isArray],
  steps: ['the steps of what runtime.steps returns', Array.isArray],
  checkpoint: ['a checkpoint, as runtime.checkpoint returns it', isRecord],
}
