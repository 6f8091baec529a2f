import type { Usage } from '@ku0/agent-runtime-core'

/** The place where an agent works: its conversation and its folder. */
export interface GatewaySession {
  /** Chosen by the caller, so that the same session is opened however often it is asked for. */
  readonly sessionId: string
  /** For whom the agent works; `worker_` and the id of the task by default. */
  readonly userId: string
  /** The folder that the agent works in, where the agent runs. */
  readonly workspaceDir: string
}

/** One run of an agent in a session. */
export interface GatewayRequest {
  /** The same for every try of one run: an agent that works on it already is joined, not started again. */
  readonly runId: string
  readonly userInput: string
  /** The agent does no more rounds than that. */
  readonly maxIterations: number
}

/** An event that an agent reports while it works. */
export interface GatewayEvent {
  /** Counts up from 1 in each run. */
  readonly id: number
  /** The kind of the event, in the words of the agent: `text`, `tool_call`. */
  readonly type: string
  /** Any JSON. */
  readonly data: unknown
}

/** How a run ended. */
export interface GatewayResult {
  readonly success: boolean
  /** Any JSON. */
  readonly output?: unknown
  /** Why it did not succeed, in one sentence. */
  readonly error?: string | undefined
  /** Its usage, for budgets and shares. */
  readonly usage?: Usage | undefined
}

/** The means that a run gets besides its request. */
export interface GatewayRunOptions {
  /** When it aborts, `runQuery` rejects with its reason. The agent goes on, unless it is canceled. */
  readonly signal: AbortSignal
  /** Called for each event, in order; the next one waits until the promise resolves. */
  readonly onEvent: (event: GatewayEvent) => void | Promise<void>
  /** The events up to this one are known. */
  readonly after?: number | undefined
}

/**
 * The way to an agent that runs elsewhere, or in this process. Source: worker pool and lease durability, Gateway Integration; `docs/gateway.md`.
 */
export interface Gateway {
  /** Opens a session, or finds the one of that id. */
  createSession(session: GatewaySession, options: Pick<GatewayRunOptions, 'signal'>): Promise<void>
  /**
   * Runs the agent and resolves with how that ended. Rejects with {@link GatewayUnreachable} where the gateway cannot be reached or breaks off, and with
   * {@link GatewayRefused} where it refuses the request.
   */
  runQuery(
    session: GatewaySession,
    request: GatewayRequest,
    options: GatewayRunOptions,
  ): Promise<GatewayResult>
  /** Ends a run that is under way; one that has ended, or never began, stays as it is. */
  cancel(session: GatewaySession, runId: string): Promise<void>
}
