import { scaleLinear, scaleSymlog } from 'd3-scale'
import { showNumber } from './numbers.ts'
import { type Attempts, type Bar, barEnds, type Distribution, type Mark, type ServicePlot } from './plots.ts'
import type { Step } from '../measure/timeline.ts'

/** A named line of counts over time. */
export interface Line {
  readonly name: string
  /** A CSS class that gives it its colour. */
  readonly style: string
  readonly steps: readonly Step[]
}

const width = 760
const margin = { top: 18, right: 16, bottom: 34, left: 52 }

/** Text that may stand in markup. */
export function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** Counts over time, as steps: a value holds until the next. The vertical axis begins at 0. */
export function drawCounts(
  title: string,
  lines: readonly Line[],
  endMs: number,
  marks: readonly Mark[],
): string {
  const height = 170
  const most = Math.max(1, ...lines.flatMap(({ steps }) => steps.map(({ value }) => value)))
  const x = scaleLinear([0, Math.max(1, endMs)], [margin.left, width - margin.right])
  const y = scaleLinear([0, most], [height - margin.bottom, margin.top]).nice(4)
  const paths = lines.map(({ name, style, steps }) => {
    const points = steps.map(({ at, value }) => `H${fixed(x(at))}V${fixed(y(value))}`)
    const path = `M${margin.left},${fixed(y(0))}${points.join('')}H${fixed(x(endMs))}`
    return `<path class="line ${style}" d="${path}"><title>${escape(name)}</title></path>`
  })
  return figure(title, height, [
    horizontalGrid(y.ticks(4).filter(Number.isInteger), (tick) => y(tick), showNumber),
    timeAxis(x, endMs, height),
    drawMarks(marks, x, height),
    ...paths,
    legend(lines.map(({ name, style }) => ({ name, style }))),
    axisName('tasks', height),
  ])
}

/** What clients were served over time, each beside a dashed line of what was due to it. Lines rise between their points. */
export function drawService(
  title: string,
  { clients }: ServicePlot,
  endMs: number,
  marks: readonly Mark[],
): string {
  const height = 230
  const most = Math.max(
    1,
    ...clients.flatMap(({ steps, ideal }) => [...steps, ...ideal].map(({ value }) => value)),
  )
  const x = scaleLinear([0, Math.max(1, endMs)], [margin.left, width - margin.right])
  const y = scaleLinear([0, most], [height - margin.bottom, margin.top]).nice(4)
  const line = (steps: readonly Step[]) =>
    steps.map(({ at, value }, i) => `${i === 0 ? 'M' : 'L'}${fixed(x(at))},${fixed(y(value))}`).join('')
  const paths = clients.flatMap(({ client, steps, ideal }, i) => [
    `<path class="line ideal client-${i % clientColours}" d="${line(ideal)}"><title>${escape(client)}: due</title></path>`,
    `<path class="line client-${i % clientColours}" d="${line(steps)}"><title>${escape(client)}: served</title></path>`,
  ])
  return figure(title, height, [
    horizontalGrid(y.ticks(4), (tick) => y(tick), showNumber),
    timeAxis(x, endMs, height),
    drawMarks(marks, x, height),
    ...paths,
    legend(
      clients.map(({ client, credits }, i) => ({
        name: `${client} (${showNumber(credits)})`,
        style: `client-${i % clientColours}`,
      })),
    ),
    axisName('cost', height),
  ])
}

/** How many clients are told apart by colour. */
const clientColours = 6

/** For each duration the share of cases that took at most that long. The horizontal axis is logarithmic above 1 ms. */
export function drawDistributions(
  title: string,
  sets: readonly (Distribution & { readonly style: string })[],
): string {
  const height = 190
  const most = Math.max(1, ...sets.flatMap(({ values }) => values))
  const x = scaleSymlog([0, most], [margin.left, width - margin.right]).constant(1)
  const y = scaleLinear([0, 1], [height - margin.bottom, margin.top])
  const paths = sets.map(({ name, values, count, style }) => {
    const points = values.map((value, i) => `H${fixed(x(value))}V${fixed(y((i + 1) / values.length))}`)
    const path = `M${margin.left},${fixed(y(0))}${points.join('')}H${width - margin.right}`
    return `<path class="line ${style}" d="${path}"><title>${escape(name)}: ${count}</title></path>`
  })
  return figure(title, height, [
    horizontalGrid(
      [0, 0.25, 0.5, 0.75, 1],
      (tick) => y(tick),
      (tick) => `${Math.round(tick * 100)} %`,
    ),
    ...decades(most).map((tick) => verticalTick(x(tick), height, showNumber(tick))),
    ...paths,
    legend(sets.map(({ name, count, style }) => ({ name: `${name} (${showNumber(count)})`, style }))),
    `<text class="name" x="${width - margin.right}" y="${height - 4}" text-anchor="end">at most so many ms (logarithmic above 1)</text>`,
    axisName('share of cases', height),
  ])
}

/** Who held what when: a row a worker, a line of it a slot, a bar an attempt. */
export function drawAttempts(
  title: string,
  { rows, bars, total, cut }: Attempts,
  endMs: number,
  marks: readonly Mark[],
): string {
  const left = 140
  const slotHeight = Math.max(
    2,
    Math.min(9, Math.floor(420 / Math.max(1, sum(rows.map(({ slots }) => slots))))),
  )
  const gap = 8
  const tops: number[] = []
  let bottom = margin.top + 6
  for (const { slots } of rows) {
    tops.push(bottom)
    bottom += Math.max(12, slots * slotHeight) + gap
  }
  const height = bottom + margin.bottom
  const x = scaleLinear([0, Math.max(1, endMs)], [left, width - margin.right])
  const drawBar = ({ row, slot, from, to, end, title: about }: Bar) => {
    const top = (tops[row] ?? 0) + slot * slotHeight
    const wide = Math.max(1, x(to) - x(from))
    const style = `bar ${styleOf(end)}`
    const size = `width="${fixed(wide)}" height="${slotHeight - (slotHeight > 3 ? 1 : 0)}"`
    return `<rect class="${style}" x="${fixed(x(from))}" y="${top}" ${size}><title>${escape(about)}</title></rect>`
  }
  const labels = rows.map(({ label }, i) => {
    const top = tops[i] ?? 0
    return `<text class="tick" x="${left - 8}" y="${top + 9}" text-anchor="end">${escape(label)}</text>`
  })
  const used = barEnds.filter((end) => bars.some((bar) => bar.end === end))
  const drawn = `: ${showNumber(total)}${cut ? ', of which the first are drawn' : ''}`
  return figure(`${title}${drawn}`, height, [
    timeAxis(x, endMs, height, left),
    drawMarks(marks, x, height),
    ...bars.map(drawBar),
    ...labels,
    legend(used.map((end) => ({ name: end, style: styleOf(end) }))),
  ])
}

function figure(title: string, height: number, parts: readonly string[]): string {
  const label = escape(title)
  return `<figure><figcaption>${label}</figcaption><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">${parts.join('')}</svg></figure>`
}

type TimeScale = ReturnType<typeof scaleLinear<number, number>>

function timeAxis(x: TimeScale, endMs: number, height: number, left = margin.left): string {
  const inSeconds = endMs >= 2000
  const ticks = x
    .ticks(8)
    .map((tick) => verticalTick(x(tick), height, showNumber(inSeconds ? tick / 1000 : tick)))
  const name = `${inSeconds ? 's' : 'ms'} from the start of the scenario`
  const line = `<path class="axis" d="M${left},${height - margin.bottom}H${width - margin.right}"/>`
  return `${line}${ticks.join('')}<text class="name" x="${width - margin.right}" y="${height - 4}" text-anchor="end">${name}</text>`
}

function verticalTick(x: number, height: number, label: string): string {
  const foot = height - margin.bottom
  return `<path class="grid" d="M${fixed(x)},${margin.top}V${foot}"/><text class="tick" x="${fixed(x)}" y="${foot + 13}" text-anchor="middle">${label}</text>`
}

function horizontalGrid(
  ticks: readonly number[],
  y: (tick: number) => number,
  show: (tick: number) => string,
): string {
  return ticks
    .map((tick) => {
      const at = fixed(y(tick))
      return `<path class="grid" d="M${margin.left},${at}H${width - margin.right}"/><text class="tick" x="${margin.left - 6}" y="${at}" dy="0.32em" text-anchor="end">${show(tick)}</text>`
    })
    .join('')
}

function axisName(name: string, height: number): string {
  const middle = (height - margin.bottom + margin.top) / 2
  return `<text class="name" transform="translate(12,${middle}) rotate(-90)" text-anchor="middle">${name}</text>`
}

/** Vertical lines with their words beside them; words that would run into others are left to the line's title. */
function drawMarks(marks: readonly Mark[], x: TimeScale, height: number): string {
  let taken = -Infinity
  return marks
    .map(({ at, label }) => {
      const place = x(at)
      const wide = label.length * 5.4
      const [from, anchor] = place + wide < width ? [place + 3, 'start'] : [place - 3 - wide, 'end']
      const fits = from > taken
      if (fits) taken = from + wide
      const words = fits
        ? `<text class="mark-name" x="${fixed(place + (anchor === 'start' ? 3 : -3))}" y="${margin.top + 8}" text-anchor="${anchor}">${escape(label)}</text>`
        : ''
      return `<path class="mark" d="M${fixed(place)},${margin.top}V${height - margin.bottom}"><title>${escape(label)}</title></path>${words}`
    })
    .join('')
}

function legend(entries: readonly { readonly name: string; readonly style: string }[]): string {
  let x = margin.left
  return entries
    .map(({ name, style }) => {
      const at = x
      x += 22 + name.length * 6.2
      return `<rect class="key ${style}" x="${fixed(at)}" y="3" width="10" height="8"/><text class="tick" x="${fixed(at + 14)}" y="11">${escape(name)}</text>`
    })
    .join('')
}

/** 0, 1, 10, 100 … up to the largest, and the largest's own half-decade. */
function decades(most: number): readonly number[] {
  const ticks = [0]
  for (let decade = 1; decade <= most; decade *= 10) {
    ticks.push(decade)
    for (const step of most < 50 ? [2, 5] : [3]) if (decade * step <= most) ticks.push(decade * step)
  }
  return ticks
}

function styleOf(end: string): string {
  return `end-${end.replace(' ', '-')}`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10)
}
