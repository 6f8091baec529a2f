// Stands for an agent with a loop of its own: it takes its rounds, reports each, and stops when it is asked to.
import type { GatewayResult } from '@ku0/agent-runtime/gateway'

/** What an agent is given. */
export interface AgentWork {
  readonly userInput: string
  readonly maxIterations: number
  readonly signal: AbortSignal
  readonly emit: (type: string, data: unknown) => void | Promise<void>
}

export async function agent({ userInput, maxIterations, signal, emit }: AgentWork): Promise<GatewayResult> {
  const words = userInput.split(' ')
  if (words.length > maxIterations)
    return { success: false, error: `${words.length} words are more than ${maxIterations} rounds` }
  const found: string[] = []
  for (const word of words) {
    signal.throwIfAborted()
    found.push(`${word} has ${word.length} letters`)
    await emit('text', found.at(-1))
  }
  return { success: true, output: found, usage: { tokens: userInput.length } }
}
