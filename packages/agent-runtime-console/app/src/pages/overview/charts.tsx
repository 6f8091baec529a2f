import { useMemo } from 'react'
import { Chart } from './chart.tsx'
import { refusedIn, usePast, WINDOWS, withLength } from './past.ts'
import type { Line } from './plot.tsx'
import { rates, type Sample } from './samples.ts'

/** What the store knows of the past, and from then on what this page has seen. */
export function Charts({
  samples,
  windowMs,
  onWindow,
}: {
  readonly samples: readonly Sample[]
  readonly windowMs: number
  readonly onWindow: (windowMs: number) => void
}) {
  const { data } = usePast(windowMs)
  const seen = samples[0]?.at ?? Infinity
  const { past, at, depth, ended, flight } = useMemo(() => {
    const points = data?.points ?? []
    const stepMs = data?.stepMs ?? 1
    // The step in which the page was opened is drawn, too: without it all before the opening would be missing.
    const before = withLength(points, stepMs)
      .filter((point) => point.at - point.ms < seen)
      .map((point) => ({ ...point, at: Math.min(point.at, seen - 1) }))
    const rate = (value: number, { ms }: { readonly ms: number }) => (value * 1_000) / ms
    const lane = (name: keyof Sample['depth'] & string): Line => ({
      name,
      color: name,
      values: [...before.map((it) => it.queued?.[name] ?? null), ...samples.map((it) => it.depth[name])],
    })
    const counted = (name: 'completed' | 'failed'): Line => ({
      name,
      color: name,
      values: [...before.map((it) => rate(it[name], it)), ...rates(samples, name)],
    })
    const running = [...before, ...samples].map((it) => it.running)
    return {
      past: points,
      at: [...before, ...samples].map((it) => it.at),
      depth: [lane('interactive'), lane('normal'), lane('batch')],
      ended: [
        counted('completed'),
        counted('failed'),
        {
          name: 'refused',
          color: 'rejected',
          values: [
            ...before.map((it) => {
              const refused = refusedIn(it)
              return refused === null ? null : rate(refused, it)
            }),
            ...rates(samples, 'rejected'),
          ],
        },
      ],
      flight: [{ name: 'running', color: 'running', values: running }],
    }
  }, [data, samples, seen])
  const waits = useMemo<readonly Line[]>(
    () => [
      { name: 'half below', color: 'normal', values: past.map(({ wait }) => seconds(wait?.half)) },
      { name: '95 % below', color: 'batch', values: past.map(({ wait }) => seconds(wait?.most)) },
    ],
    [past],
  )
  const waitAt = useMemo(() => past.map((it) => it.at), [past])
  return (
    <>
      <p className="row chart-window">
        <label>
          The last{' '}
          <select value={windowMs} onChange={(event) => onWindow(Number(event.target.value))}>
            {WINDOWS.map((it) => (
              <option key={it.windowMs} value={it.windowMs}>
                {it.name}
              </option>
            ))}
          </select>
        </label>
      </p>
      <div className="charts">
        <Chart title="Queued by lane" at={at} lines={depth} />
        <Chart title="Ended a second" at={at} lines={ended} />
        <Chart title="In flight" at={at} lines={flight} />
        <Chart title="Seconds until a start" at={waitAt} lines={waits} />
      </div>
    </>
  )
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1_000
}
