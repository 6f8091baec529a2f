import type { ServerResponse } from 'node:http'
import type { GatewayResult } from '@ku0/agent-runtime/gateway'
import type { AgentWork } from './agent.ts'

/** One run: it goes on whoever listens, and keeps its events for those who come later. */
export class Run {
  result: GatewayResult | undefined
  readonly #events: string[] = []
  readonly #listeners = new Set<ServerResponse>()
  readonly #stop = new AbortController()

  constructor(agent: (work: AgentWork) => Promise<GatewayResult>, work: Omit<AgentWork, 'signal' | 'emit'>) {
    void this.#work(() =>
      agent({ ...work, signal: this.#stop.signal, emit: (type, data) => this.#say(type, data) }),
    )
  }

  /** Sends the events after this one, and those that come. */
  follow(response: ServerResponse, after: number): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    for (const event of this.#events.slice(after)) response.write(event)
    if (this.result !== undefined) {
      response.end()
      return
    }
    this.#listeners.add(response)
    // Whoever waits knows from a comment that the run goes on.
    const alive = setInterval(() => response.write(': alive\n\n'), 15_000)
    response.once('close', () => {
      clearInterval(alive)
      this.#listeners.delete(response)
    })
  }

  cancel(): void {
    this.#stop.abort(new Error('the run was canceled'))
  }

  async #work(run: () => Promise<GatewayResult>): Promise<void> {
    this.result = await run().catch((error: unknown) => ({ success: false, error: String(error) }))
    this.#say('result', this.result)
    for (const listener of this.#listeners) listener.end()
  }

  #say(type: string, data: unknown): void {
    const event = `id: ${this.#events.length + 1}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`
    this.#events.push(event)
    for (const listener of this.#listeners) listener.write(event)
  }
}
