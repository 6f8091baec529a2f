import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { formatsOf } from '../../ui/format.ts'
import { useZone, type Zone } from '../../ui/zone.ts'

export interface Line {
  readonly name: string
  /** A name of the palette in CSS, without its dashes. */
  readonly color: string
  readonly values: readonly (number | null)[]
}

/** The drawing of a chart: `at` in epoch ms, and a value of each line for each. */
export default function Plot({
  at,
  lines,
}: {
  readonly at: readonly number[]
  readonly lines: readonly Line[]
}) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const zone = useZone()
  const names = lines.map(({ name, color }) => `${name} ${color}`).join(',')

  useEffect(() => {
    const place = box.current
    if (place === null) return undefined
    const made = new uPlot(optionsOf(place, lines, zone), [[], ...lines.map(() => [])], place)
    plot.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: HEIGHT }))
    resized.observe(place)
    return () => {
      resized.disconnect()
      made.destroy()
      plot.current = undefined
    }
    // The values come in below; other lines and another time zone need another plot.
  }, [names, zone])

  useEffect(() => {
    plot.current?.setData([at.map((it) => it / 1_000), ...lines.map(({ values }) => [...values])])
  }, [at, lines, zone])

  return <div ref={box} className="plot" aria-hidden="true" />
}

const HEIGHT = 150
/** The axis of time is at least so long, so that the first samples do not fill it. */
const LEAST_SECONDS = 60

/** One or two values are no line that one sees, so they are drawn as dots. */
function alone({ data }: uPlot, series: number): number[] {
  const known = [...(data[series] ?? [])].flatMap((value, at) =>
    value === null || value === undefined ? [] : [at],
  )
  return known.length < 3 ? known : []
}

/** Times of the day; days where the axis is longer than one. */
function timesOf(times: readonly number[], zone: Zone): string[] {
  const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) > 86_400
  return times.map((time) => (isLong ? day : clock)[zone].format(time * 1_000))
}

const clock = formatsOf({ timeStyle: 'medium' })
const day = formatsOf({ month: 'short', day: 'numeric', hour: '2-digit' })

function optionsOf(place: HTMLElement, lines: readonly Line[], zone: Zone): uPlot.Options {
  const color = (name: string) => () => getComputedStyle(place).getPropertyValue(`--${name}-line`)
  const faint = () => getComputedStyle(place).getPropertyValue('--faint-line')
  const axis = { stroke: faint, font: '11px system-ui, sans-serif', ticks: { show: false } }
  return {
    width: place.clientWidth,
    height: HEIGHT,
    cursor: { show: false },
    legend: { show: false },
    // The last time of the axis needs room on the right.
    padding: [8, 30, 0, 0],
    scales: {
      x: { range: (_, from, to) => [Math.min(from, to - LEAST_SECONDS), to] },
      y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] },
    },
    axes: [
      { ...axis, space: 90, size: 26, grid: { show: false }, values: (_, times) => timesOf(times, zone) },
      {
        ...axis,
        size: 44,
        space: 36,
        grid: { stroke: () => getComputedStyle(place).getPropertyValue('--grid-line'), width: 1 },
      },
    ],
    series: [
      {},
      ...lines.map(({ name, color: named }) => ({
        label: name,
        stroke: color(named),
        width: 2,
        points: { show: true, size: 6, filter: alone },
        spanGaps: true,
      })),
    ],
  }
}
