import { count } from './page.ts'
import { summaryOf, type Findings } from './results.ts'
import type { Summary } from './statistics.ts'

const [labels, width, right] = [190, 720, 84]

interface Bar {
  readonly name: string
  readonly kind: string
  readonly summary: Summary
}

/** Pictures by name: bars for rates, lines for a queue that grows. Each is whole without a script, and fits light and dark pages. */
export function plotsOf(findings: Findings): ReadonlyMap<string, string> {
  const workloads = [...new Set(findings.results.map(({ workload }) => workload))]
  const drains = workloads.filter((id) => id.startsWith('drain-'))
  const steps = workloads
    .filter((id) => id.startsWith('steps-'))
    .toSorted()
    .at(0)
  const waits = workloads.find((id) => id.startsWith('waiting-'))
  const bars: (readonly [string, string, string, string])[] = [
    ['submit', 'submit', 'fiftyPerSecond', 'tasks stored a second, 50 calls in flight'],
    ...drains.map(
      (id) => [id, id, 'perSecondWorking', 'tasks a second from the start of the workers'] as const,
    ),
    ...(steps === undefined
      ? []
      : [['steps', steps, 'stepsPerSecond', 'durable steps a second, 20 tasks at once'] as const]),
    ...(waits === undefined
      ? []
      : [['waiting', waits, 'reachedPerSecond', 'tasks a second that came to their wait'] as const]),
  ]
  const pictures = bars.flatMap(([name, workload, figure, title]) => {
    const drawn = drawBars(title, barsOf(findings, workload, figure))
    return drawn === undefined ? [] : [[name, drawn] as const]
  })
  const growth = drawGrowth(findings)
  return new Map([...pictures, ...(growth === undefined ? [] : [['growth', growth] as const])])
}

function barsOf(findings: Findings, workload: string, figure: string): readonly Bar[] {
  return findings.systems
    .flatMap(({ id, name, kind }) => {
      const summary = summaryOf(findings, id, workload, figure)
      return summary === undefined ? [] : [{ name, kind, summary }]
    })
    .toSorted((a, b) => b.summary.median - a.summary.median)
}

function drawBars(title: string, bars: readonly Bar[]): string | undefined {
  if (bars.length === 0) return undefined
  const most = Math.max(...bars.map(({ summary }) => summary.most))
  const x = (value: number) => labels + (value / most) * (width - labels - right)
  const rows = bars.map(({ name, kind, summary: { median, least, most: top } }, index) => {
    const y = 34 + index * 26
    return [
      `<text class="name" x="${labels - 8}" y="${y + 14}">${escape(name)}</text>`,
      `<rect class="${kind}" x="${labels}" y="${y}" width="${Math.max(1, x(median) - labels).toFixed(1)}" height="19" rx="2"/>`,
      least < top ? `<path class="range" d="M${x(least).toFixed(1)} ${y + 9.5}H${x(top).toFixed(1)}"/>` : '',
      `<text x="${(x(top) + 6).toFixed(1)}" y="${y + 14}">${count(Math.round(median))}</text>`,
    ].join('')
  })
  return picture(title, 44 + bars.length * 26, rows)
}

/** Both axes are logarithmic: a flat line is a system that does not mind the length of its queue. */
function drawGrowth(findings: Findings): string | undefined {
  const lines = findings.systems.flatMap(({ id, name, kind }) => {
    const figures = findings.results.find((it) => it.system === id && it.workload === 'growth')?.figures ?? {}
    const points = Object.entries(figures).map(
      ([figure, rate]) => [Number(/\d+/.exec(figure)), rate] as const,
    )
    return points.length < 2 ? [] : [{ name, kind, points: points.filter(([, rate]) => rate > 0) }]
  })
  if (lines.length === 0) return undefined
  const all = lines.flatMap(({ points }) => points)
  const scale = (values: readonly number[], from: number, to: number) => {
    const [low, high] = [Math.log10(Math.min(...values)), Math.log10(Math.max(...values))]
    return (value: number) => from + ((Math.log10(value) - low) / (high - low || 1)) * (to - from)
  }
  const x = scale(
    all.map(([size]) => size),
    70,
    width - 200,
  )
  const y = scale(
    all.map(([, rate]) => rate),
    260,
    50,
  )
  const ends = apart(lines.map(({ points }) => y(points.at(-1)?.[1] ?? 1)))
  const rows = lines.map(({ name, kind, points }, index) => {
    const path = points
      .map(([size, rate], n) => `${n === 0 ? 'M' : 'L'}${x(size).toFixed(1)} ${y(rate).toFixed(1)}`)
      .join('')
    const label = `${name}: ${count(Math.round(points.at(-1)?.[1] ?? 0))}/s`
    return `<path class="line ${kind}" d="${path}"/><text x="${width - 192}" y="${(ends[index] ?? 0) + 4}">${escape(label)}</text>`
  })
  const ticks = [...new Set(all.map(([size]) => size))].map(
    (size) => `<text class="tick" x="${x(size).toFixed(1)}" y="290">${count(size)}</text>`,
  )
  return picture('tasks a second by the length of the queue', 304, [...rows, ...ticks])
}

/** Labels that would lie on each other are moved down. */
function apart(places: readonly number[]): readonly number[] {
  const moved = [...places]
  let last = Number.NEGATIVE_INFINITY
  for (const index of places.map((_, n) => n).toSorted((a, b) => (places[a] ?? 0) - (places[b] ?? 0))) {
    last = Math.max(places[index] ?? 0, last + 16)
    moved[index] = last
  }
  return moved
}

function picture(title: string, height: number, rows: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(title)}">
  <style>
    text { font: 13px system-ui, sans-serif; fill: #333 }
    .name { text-anchor: end }
    .tick { text-anchor: middle }
    rect.own { fill: #2a7d4f }
    rect.peer { fill: #7a8aa0 }
    rect.limit { fill: #c9a24a }
    .range { stroke: #b4552d; stroke-width: 2 }
    .line { fill: none; stroke-width: 2 }
    .line.own { stroke: #2a7d4f }
    .line.peer { stroke: #7a8aa0 }
    @media (prefers-color-scheme: dark) {
      text { fill: #ddd }
    }
  </style>
  <text x="8" y="18">${escape(title)}</text>
  ${rows.join('\n  ')}
</svg>
`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
