import { showDuration } from '../report/numbers.ts'
import type { ScenarioReport } from '../report/report.ts'
import type { Progress } from '../run/run-scenario.ts'

/** Shows how far the gym is: one living line on a terminal, a line a scenario otherwise. */
export interface ProgressView {
  started(id: string, place: number, of: number): void
  moved(progress: Progress): void
  finished(report: ScenarioReport): void
  close(): void
}

/** What the view writes to: a terminal's stream or any other. */
export interface Screen {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

export function createProgressView(screen: Screen): ProgressView {
  return screen.isTTY === true ? livingLine(screen) : plainLines(screen)
}

function plainLines(screen: Screen): ProgressView {
  return {
    started: () => undefined,
    moved: () => undefined,
    finished: (report) => void screen.write(`${verdictLine(report)}\n`),
    close: () => undefined,
  }
}

function livingLine(screen: Screen): ProgressView {
  let title = ''
  let beganAt = 0
  const show = (text: string) => screen.write(`\r${clear}${text.slice(0, (screen.columns ?? 80) - 1)}`)
  return {
    started(id, place, of) {
      title = `[${place}/${of}] ${id}`
      beganAt = performance.now()
      show(title)
    },
    moved(progress) {
      show([title, describe(progress), showDuration(performance.now() - beganAt)].join('   '))
    },
    finished(report) {
      screen.write(`\r${clear}${report.pass ? green : red}${verdictLine(report)}${plain}\n`)
    },
    close: () => void screen.write(`\r${clear}`),
  }
}

function verdictLine({ id, pass, durationMs, figure, reason }: ScenarioReport): string {
  const line = `${pass ? 'pass' : 'FAIL'}  ${id.padEnd(28)} ${showDuration(durationMs).padStart(8)}  ${figure}`
  return pass || reason === undefined ? line : `${line}\n      ${reason}`
}

function describe({ run, runs, submitted, started, left, tasks }: Progress): string {
  const parts = [
    ...(runs > 1 ? [`run ${run} of ${runs}`] : []),
    `${submitted} of ${tasks} submitted`,
    ...(started > 0 ? [`${started - left} in handlers`, `${left} left`] : []),
  ]
  return parts.join(', ')
}

const clear = '\u001b[2K'
const green = '\u001b[32m'
const red = '\u001b[31m'
const plain = '\u001b[0m'
