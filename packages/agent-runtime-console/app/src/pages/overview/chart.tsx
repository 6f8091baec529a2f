import { lazy, Suspense } from 'react'
import { amount, count } from '../../ui/format.ts'
import type { Line } from './plot.tsx'

/** What draws comes after the first words and numbers are there. The numbers stay where it cannot be had, as from a server that was upgraded meanwhile. */
const Plot = lazy(() => import('./plot.tsx').catch(() => ({ default: NoPlot })))

function NoPlot() {
  return <p className="plot faint">The drawing could not be loaded. Load the page again.</p>
}

/** Lines over time. What it shows stands beside it as text, too: the drawing alone tells a screen reader nothing. */
export function Chart({
  title,
  at,
  lines,
}: {
  readonly title: string
  readonly at: readonly number[]
  readonly lines: readonly Line[]
}) {
  return (
    <figure className="card chart">
      <figcaption>
        <h2>{title}</h2>
        <ul className="legend">
          {lines.map(({ name, color, values }) => (
            <li key={name}>
              <span className={`swatch swatch-${color}`} aria-hidden="true" />
              {name} <strong>{shown(values.findLast((it) => it !== null) ?? undefined)}</strong>
            </li>
          ))}
        </ul>
      </figcaption>
      {at.length < 2 ? <p className="chart-wait faint">The line begins with the next samples.</p> : null}
      <Suspense fallback={<div className="plot" />}>
        <Plot at={at} lines={lines} />
      </Suspense>
    </figure>
  )
}

function shown(value: number | undefined): string {
  if (value === undefined) return '–'
  if (value >= 100) return count(Math.round(value))
  return amount(value >= 10 ? Math.round(value * 10) / 10 : value)
}
