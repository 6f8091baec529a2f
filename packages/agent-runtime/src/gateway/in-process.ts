import { RuntimeError, show } from '@ku0/agent-runtime-core'
import type { Gateway, GatewayEvent, GatewayResult, GatewaySession } from './gateway.ts'

/** The means that an agent in this process gets. */
export interface InProcessRun {
  readonly session: GatewaySession
  readonly runId: string
  readonly userInput: string
  readonly maxIterations: number
  /** Aborts when the run has to stop. */
  readonly signal: AbortSignal
  /** Reports an event; resolves when it is stored. */
  readonly emit: (type: string, data: unknown) => Promise<void>
}

/** An agent in this process: what it returns is how the run ended. */
export type InProcessAgent = (run: InProcessRun) => GatewayResult | Promise<GatewayResult>

/**
 * A gateway to an agent in this process. A run ends with the pass of its task: where the process dies, the next pass runs the agent again, with the
 * same `runId`.
 */
export function inProcessGateway(agent: InProcessAgent): Gateway {
  if (typeof agent !== 'function')
    throw new RuntimeError('invalid_argument', `inProcessGateway takes a function; given ${show(agent)}`)
  const running = new Map<string, AbortController>()
  return {
    createSession: () => Promise.resolve(),
    async runQuery(session, { runId, userInput, maxIterations }, { signal, onEvent }) {
      const stop = new AbortController()
      running.set(runId, stop)
      let id = 0
      const emit = async (type: string, data: unknown) => {
        id += 1
        const event: GatewayEvent = { id, type, data }
        await onEvent(event)
      }
      try {
        const ended = AbortSignal.any([signal, stop.signal])
        return await agent({ session, runId, userInput, maxIterations, signal: ended, emit })
      } finally {
        running.delete(runId)
      }
    },
    cancel(_, runId) {
      running.get(runId)?.abort(new RuntimeError('task_canceled', `run ${runId} was canceled`))
      return Promise.resolve()
    },
  }
}
