// Draws docs/killed-task.svg: a task whose process is killed in its fourth step, and the next process that goes on with it. The picture shows a
// real run: which steps ran in which process, and when.
//
//   node tools/picture.ts [FILE]
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

const [left, width, row] = [96, 640, 64]

/** A process of the run. Times are epoch ms. */
export interface Life {
  readonly from: number
  readonly until: number
  /** The steps that it began, in order. */
  readonly began: readonly { readonly step: number; readonly at: number }[]
  readonly killed: boolean
}

export interface Run {
  readonly lives: readonly [Life, Life]
  /** When each step's result was recorded. */
  readonly recorded: readonly { readonly step: number; readonly at: number }[]
}

if (import.meta.main) {
  const file = process.argv[2] ?? resolve(import.meta.dirname, '../docs/killed-task.svg')
  writeFileSync(file, draw(await runAndKill()))
}

/** Runs the program twice on one store: the first process kills itself. */
export async function runAndKill(): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'picture-'))
  try {
    const database = join(folder, 'agent.db')
    const first = await live(database, '--die')
    const second = await live(database)
    if (!first.life.killed || second.life.killed)
      throw new Error('the first process was to be killed, and only that')
    return { lives: [first.life, second.life], recorded: second.recorded }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function live(...args: readonly string[]): Promise<{ life: Life; recorded: Run['recorded'] }> {
  const from = Date.now()
  const child = spawn(
    process.execPath,
    [resolve(import.meta.dirname, '../packages/agent-runtime/test/processes/walk.ts'), ...args],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const ended = new Promise<NodeJS.Signals | null>((end) => child.once('exit', (_, signal) => end(signal)))
  const began: { step: number; at: number }[] = []
  const recorded: { step: number; at: number }[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    const said = JSON.parse(line) as {
      step?: number
      at?: number
      recorded?: readonly { step: string; at: number }[]
    }
    if (said.step !== undefined) began.push({ step: said.step, at: said.at ?? 0 })
    for (const { step, at } of said.recorded ?? [])
      recorded.push({ step: Number(step.replace('step ', '')), at })
  }
  const killed = (await ended) === 'SIGKILL'
  return { life: { from, until: Date.now(), began, killed }, recorded }
}

/** A run as a picture that fits light and dark pages. */
export function draw({ lives, recorded }: Run): string {
  const [start, end] = [lives[0].from, lives[1].until]
  const x = (at: number) => (left + ((at - start) / (end - start)) * (width - left - 16)).toFixed(1)
  const wide = (from: number, until: number) => Math.max(2, Number(x(until)) - Number(x(from))).toFixed(1)
  const rows = lives.map((life, index) => {
    const y = 40 + index * row
    const boxes = life.began.map(({ step, at }, n) => {
      const own = recorded.find((it) => it.step === step && it.at >= at && it.at <= life.until)
      const until = own?.at ?? life.began[n + 1]?.at ?? life.until
      const middle = (Number(x(at)) + Number(x(until))) / 2
      return [
        `<rect class="${own === undefined ? 'lost' : 'step'}" x="${x(at)}" y="${y}" width="${wide(at, until)}" height="28" rx="4"/>`,
        `<text class="on" x="${middle.toFixed(1)}" y="${y + 19}">${step}</text>`,
      ].join('')
    })
    const name = index === 0 ? 'process 1' : 'process 2'
    const kill = life.killed
      ? `<path class="kill" d="M${x(life.until)} ${y - 8}v44"/><text class="kill" x="${Number(x(life.until)) + 6}" y="${y - 4}">kill -9</text>`
      : ''
    return [
      `<text x="8" y="${y + 19}">${name}</text>`,
      `<rect class="life" x="${x(life.from)}" y="${y - 6}" width="${wide(life.from, life.until)}" height="40" rx="6"/>`,
      ...boxes,
      kill,
    ]
      .filter((line) => line !== '')
      .join('\n  ')
  })
  const inSecond = new Set(lives[1].began.map(({ step }) => step))
  const kept = recorded.map(({ step }) => step).filter((step) => !inSecond.has(step))
  const lost = lives[0].began.at(-1)?.step ?? 0
  const note = [
    `Steps ${kept[0]} to ${kept.at(-1)} were recorded, so process 2 does not run them again.`,
    `Step ${lost} was under way when process 1 was killed: it runs once more. Grey: the process is there.`,
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 196" role="img" aria-label="${note.join(' ')}">
  <style>
    text { font: 13px system-ui, sans-serif; fill: #333 }
    .on { text-anchor: middle; fill: #fff; font-weight: 600 }
    .life { fill: #8883 }
    .step { fill: #2a7d4f }
    .lost { fill: #b4552d }
    path.kill { stroke: #c0392b; stroke-width: 2 }
    text.kill { fill: #c0392b; font-weight: 600 }
    @media (prefers-color-scheme: dark) {
      text { fill: #ddd }
      .on { fill: #fff }
      path.kill { stroke: #ff7b6b }
      text.kill { fill: #ff7b6b }
    }
  </style>
  <text x="8" y="18">one task, six steps, ${((end - start) / 1000).toFixed(1)} seconds</text>
  ${rows.join('\n  ')}
  ${note.map((line, index) => `<text x="8" y="${164 + index * 20}">${line}</text>`).join('\n  ')}
</svg>
`
}
