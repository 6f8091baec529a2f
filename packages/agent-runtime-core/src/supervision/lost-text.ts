import { durationText } from '../check/duration-text.ts'
import { canonical } from '../codec/codec.ts'
import { parseJson } from '../codec/parse-json.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { restartTimes, supervisorOf } from './standing.ts'

/** The error of a supervisor whose child failed and is not started again any more. */
export function lostText(
  ws: WorkingSet,
  parent: { readonly id: number },
  child: string,
  end: { readonly text: string; readonly blob: string | null },
): string {
  const { maxRestarts = 0, periodMs = 0 } = supervisorOf(ws, parent)?.terms ?? {}
  const restarts = restartTimes(ws, parent).filter((then) => ws.now.at <= then + periodMs).length
  const { error } = (end.blob === null ? parseJson(end.text) : {}) as { readonly error?: unknown }
  const why =
    restarts >= maxRestarts
      ? `after ${restarts} ${restarts === 1 ? 'restart' : 'restarts'} within ${durationText(periodMs)}, and maxRestarts is ${maxRestarts}`
      : 'in a way that a restart does not mend'
  return canonical({
    code: 'escalated',
    details: { child, restarts, maxRestarts, periodMs },
    message: `child '${child}' ended ${why}`,
    name: 'RuntimeError',
    retryable: false,
    cause: error,
  })
}
