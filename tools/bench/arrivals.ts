import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseTrace } from '../../packages/agent-gym/src/work/trace.ts'
import type { Request } from './run/messages.ts'

/** A recorded hour of requests to a language model, where somebody has put one beside the workspace. */
const recorded = resolve(import.meta.dirname, '../../../shared/data/azure-llm-code.csv')
/** A model writes so many tokens in a second. */
const tokensPerSecond = 100

/** Requests in the order in which they come, with the time that each takes. */
export interface Arrivals {
  /** Whether they come from a file; otherwise they are drawn. */
  readonly isRecorded: boolean
  readonly requests: readonly Request[]
}

/** An hour in a minute: sixty times as many users as the recorded service had, each request as long as it was. */
export function arrivals(seconds: number, file = recorded): Arrivals {
  const isRecorded = existsSync(file)
  const hour = isRecorded
    ? parseTrace(readFileSync(file, 'utf8'), file).map(({ afterMs, generatedTokens }) => ({
        afterMs: afterMs / 60,
        tokens: generatedTokens,
      }))
    : drawn()
  const requests = hour
    .filter(({ afterMs }) => afterMs < seconds * 1_000)
    .map(({ afterMs, tokens }, n) => ({ afterMs, lane: laneOf(n), ms: (tokens / tokensPerSecond) * 1_000 }))
  return { isRecorded, requests }
}

/** Three of ten are interactive, five normal and two batch. */
function laneOf(n: number): Request['lane'] {
  const place = (n * 7) % 10
  return place < 3 ? 'interactive' : place < 8 ? 'normal' : 'batch'
}

/** Rushes and lulls of a second, with sizes like the recorded ones: most small, few large. The same each time. */
function drawn(): readonly { readonly afterMs: number; readonly tokens: number }[] {
  let state = 1
  const next = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  let afterMs = 0
  return Array.from({ length: 8_800 }, () => {
    const isRush = Math.floor(afterMs / 1_000) % 3 === 0
    afterMs += -Math.log(next()) * (isRush ? 3 : 12.5)
    return { afterMs, tokens: Math.ceil(4 * Math.exp(next() * 3.2)) }
  })
}
