import { useMemo, useState } from 'react'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { Chart, type Line } from './chart.tsx'
import { rates, type Sample } from './samples.ts'

const WINDOWS = [
  { name: '15 minutes', windowMs: 900_000 },
  { name: 'hour', windowMs: 3_600_000 },
  { name: '24 hours', windowMs: 86_400_000 },
] as const
/** A chart of the past has so many steps. */
const STEPS = 90

/** What the store knows of the past, and from then on what this page has seen. */
export function Charts({ samples }: { readonly samples: readonly Sample[] }) {
  const [windowMs, setWindow] = useState<number>(WINDOWS[0].windowMs)
  const { data } = useLiveQuery(
    ['series', windowMs],
    () => api().series({ windowMs, stepMs: windowMs / STEPS }),
    { isSlow: true },
  )
  const seen = samples[0]?.at ?? Infinity
  const { past, at, depth, ended, flight } = useMemo(() => {
    const points = data?.points ?? []
    const stepMs = data?.stepMs ?? 1
    // The step in which the page was opened is drawn, too: without it all before the opening would be missing.
    const before = points
      .filter((point) => point.at - stepMs < seen)
      .map((point) => ({ ...point, at: Math.min(point.at, seen - 1) }))
    const rate = (value: number) => (value * 1_000) / stepMs
    const unknown = before.map(() => null)
    const lane = (name: keyof Sample['depth'] & string): Line => ({
      name,
      color: name,
      values: [...before.map((it) => it.queued?.[name] ?? null), ...samples.map((it) => it.depth[name])],
    })
    const counted = (name: 'completed' | 'failed'): Line => ({
      name,
      color: name,
      values: [...before.map((it) => rate(it[name])), ...rates(samples, name)],
    })
    const running = [...before, ...samples].map((it) => it.running)
    return {
      past: points,
      at: [...before, ...samples].map((it) => it.at),
      depth: [lane('interactive'), lane('normal'), lane('batch')],
      ended: [
        counted('completed'),
        counted('failed'),
        { name: 'rejected', color: 'rejected', values: [...unknown, ...rates(samples, 'rejected')] },
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
          <select value={windowMs} onChange={(event) => setWindow(Number(event.target.value))}>
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
