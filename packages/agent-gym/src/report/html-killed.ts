import type { KilledTask } from './killed-task.ts'
import { showNumber } from './numbers.ts'
import { escape } from './svg.ts'

/** The story of a killed task: a line for each process that ran it, and what happened, in order. */
export function renderKilled(it: KilledTask): string {
  const share = (ms: number) => `${((ms / it.endMs) * 100).toFixed(2)}%`
  const lines = it.stretches.map(({ process, from, to, isKilled, steps }) => {
    const bar = `<i class="bar ${isKilled ? 'killed' : 'done'}" style="left:${share(from)};width:${share(Math.max(to - from, it.endMs / 200))}"></i>`
    const dots = steps.map((at) => `<i class="step" style="left:${share(at)}"></i>`).join('')
    return `<div class="track"><span>${escape(process)}</span><div>${bar}${dots}</div></div>`
  })
  const events = it.stretches.flatMap(({ process, from, to, isKilled, steps }, i) => [
    happened(
      from,
      i === 0
        ? `Process ${process} starts the task.`
        : `Process ${process} goes on with the task. Its recorded steps return their results; none of them runs again.`,
    ),
    happened(
      to,
      isKilled
        ? `Process ${process} is gone: it was killed in the middle of the task. ${count(steps.length)} of this process ${steps.length === 1 ? 'is' : 'are'} recorded.`
        : i === it.stretches.length - 1
          ? `The task completes, after ${count(steps.length)} more.`
          : `The task waits, or gives its place back.`,
    ),
  ])
  return `<section class="killed-task"><h2>One task whose process was killed</h2>
<div class="tracks">${lines.join('')}</div>
<p class="quiet">Each dot is a step that was recorded. ${showNumber(Math.round(it.endMs))} ms in all.</p>
<ol>${events.join('')}</ol></section>`
}

function happened(at: number, text: string): string {
  return `<li><b>${showNumber(Math.round(at))} ms</b> ${escape(text)}</li>`
}

function count(steps: number): string {
  return steps === 1 ? '1 step' : `${steps} steps`
}
