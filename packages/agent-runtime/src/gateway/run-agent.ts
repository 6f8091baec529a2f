import type { CleanupReason, StepHandle, TaskContext } from '../api/task-context.ts'
import type { RetrySetting } from '../api/retry-setting.ts'
import { AgentRunFailed } from './errors.ts'
import type { Gateway, GatewayEvent, GatewayResult, GatewaySession } from './gateway.ts'

/** A run that is handed to an agent. */
export interface AgentRun {
  readonly prompt: string
  /** The folder that the agent works in, where the agent runs. */
  readonly workspaceDir: string
  /** 50 by default. */
  readonly maxIterations?: number | undefined
  /** `worker_` and the id of the task by default. */
  readonly userId?: string | undefined
  /** The key of its steps; `agent` by default. A handler that runs several agents needs one for each. */
  readonly key?: string | undefined
  /** How often a gateway that cannot be reached is tried in all; three times by default. */
  readonly retry?: RetrySetting | undefined
  /**
   * Called for each event of the agent; by default it is emitted as output of the task. Events come again when a later try joins the run: their ids tell
   * which.
   */
  readonly onEvent?: ((event: GatewayEvent) => void | Promise<void>) | undefined
}

/**
 * Hands a run to an agent, and returns its result: two steps, one for the session and one for the run. After a crash the next pass joins the run that
 * is under way, by its `runId`. If the task is canceled, fails or runs out of time meanwhile, the run is canceled, too. Throws `AgentRunFailed` if the
 * agent does not succeed, and what the gateway throws. Source: `docs/gateway.md`.
 */
export async function runAgent(ctx: TaskContext, gateway: Gateway, run: AgentRun): Promise<GatewayResult> {
  const { prompt, workspaceDir, maxIterations = 50, userId = `worker_${ctx.taskId}`, key = 'agent' } = run
  const { retry = { attempts: 3 } } = run
  const session: GatewaySession = await ctx.step(`${key} session`, { retry }, async (step) => {
    const made = { sessionId: step.idempotencyKey, userId, workspaceDir }
    await gateway.createSession(made, { signal: step.signal })
    return made
  })
  const onEvent = run.onEvent ?? ((event: GatewayEvent) => ctx.emit(event as never))
  const query = async (step: StepHandle) => {
    const request = { runId: step.idempotencyKey, userInput: prompt, maxIterations }
    const result = await gateway.runQuery(session, request, {
      signal: step.signal,
      onEvent,
    })
    if (result.usage !== undefined) step.charge(result.usage)
    if (!result.success) throw new Unsuccessful(result.error)
    return result
  }
  const runId = ctx.idempotencyKey(`${key} run`)
  const forget = ctx.onCleanup(async (reason) => {
    if (endsRun.has(reason)) await gateway.cancel(session, runId)
  })
  try {
    const result = await ctx.step<GatewayResult>(`${key} run`, { retry }, query)
    forget()
    return result
  } catch (error) {
    if (!(error instanceof Unsuccessful)) throw error
    forget()
    // The task's own retry may run the agent again.
    throw new AgentRunFailed(error.why)
  }
}

/** No further try of the step helps: the agent has ended. */
class Unsuccessful extends Error {
  readonly retryable = false
  readonly why: string | undefined

  constructor(why: string | undefined) {
    super(new AgentRunFailed(why).message)
    this.why = why
  }
}

/** Nobody will ask for the result. After the others another pass joins the run. */
const endsRun: ReadonlySet<CleanupReason> = new Set<CleanupReason>([
  'canceled',
  'timeout',
  'budget_exceeded',
  'failed',
])
