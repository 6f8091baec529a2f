import { RuntimeError } from '@ku0/agent-runtime-core'

/** The gateway could not be reached, or broke off: the same run may go well later. A task that fails of it has the kind `gateway_unreachable`. */
export class GatewayUnreachable extends RuntimeError {
  static {
    this.prototype.name = 'GatewayUnreachable'
  }

  constructor(where: string, why: string, cause?: unknown) {
    super('gateway_unreachable', `the run gateway ${where} cannot be reached: ${why}`, {
      details: { gateway: where },
      ...(cause === undefined ? {} : { cause }),
    })
  }
}

/** The gateway refused the request, or its answer is none of the protocol: trying the same again does not help. */
export class GatewayRefused extends RuntimeError {
  static {
    this.prototype.name = 'GatewayRefused'
  }

  readonly retryable = false

  constructor(where: string, why: string, details: Readonly<Record<string, unknown>> = {}) {
    super('gateway_refused', `the run gateway ${where} ${why}`, { details: { gateway: where, ...details } })
  }
}

/** The agent ended without success. */
export class AgentRunFailed extends RuntimeError {
  static {
    this.prototype.name = 'AgentRunFailed'
  }

  constructor(why: string | undefined) {
    super('agent_run_failed', `the agent did not succeed: ${why ?? 'it gives no reason'}`)
  }
}
