import type { Lane, RejectionReason } from '@ku0/agent-runtime-core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useLiveQuery } from '../../server/live.tsx'
import { api } from '../../server/session.ts'
import { shortId } from '../../ui/format.ts'
import { Problem } from '../../ui/problem.tsx'
import { lanes } from '../tasks/names.ts'
import { Chart } from './chart.tsx'
import { refusedIn, usePast, type View, type ViewSearch, viewSearchOf, WINDOWS, withLength } from './past.ts'
import type { Line } from './plot.tsx'
import { rates, type Sample } from './samples.ts'

/** What the store knows of the past, and from then on what this page has seen. */
export function Charts({
  samples: ofAll,
  view,
}: {
  readonly samples: readonly Sample[]
  readonly view: View
}) {
  const { data, error, refetch } = usePast(view)
  const isNarrow = view.lane !== undefined || view.type !== undefined
  // What this page has seen is of all tasks together.
  const samples = isNarrow ? none : ofAll
  const seen = samples[0]?.at ?? Infinity
  const { past, at, depth, ended, flight } = useMemo(() => {
    const points = data?.points ?? []
    const stepMs = data?.stepMs ?? 1
    // The step in which the page was opened is drawn, too: without it all before the opening would be missing.
    const before = withLength(points, stepMs)
      .filter((point) => point.at - point.ms < seen)
      .map((point) => ({ ...point, at: Math.min(point.at, seen - 1) }))
    const rate = (value: number, { ms }: { readonly ms: number }) => (value * 1_000) / ms
    const lane = (name: Lane): Line => ({
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
      depth: lanes.filter((it) => view.lane === undefined || it === view.lane).map(lane),
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
  }, [data, samples, seen, view.lane])
  const waits = useMemo<readonly Line[]>(
    () => [
      { name: 'half within', color: 'normal', values: past.map(({ wait }) => seconds(wait?.half)) },
      { name: '95 % within', color: 'batch', values: past.map(({ wait }) => seconds(wait?.most)) },
      { name: '99 % within', color: 'interactive', values: past.map(({ wait }) => seconds(wait?.nearly)) },
    ],
    [past],
  )
  const workers = useMemo<readonly Line[]>(
    () =>
      (data?.workers ?? []).map(({ workerId, running }, index) => ({
        name: shortId(workerId),
        color: colorOf(index),
        values: running,
      })),
    [data],
  )
  const refusals = useMemo<readonly Line[]>(() => {
    const steps = withLength(past, data?.stepMs ?? 1)
    const reasons = new Set(past.flatMap(({ refused = {} }) => Object.keys(refused)))
    return [...reasons].map((reason, index) => ({
      name: reason,
      color: colorOf(index),
      values: steps.map(({ refused, ms }) =>
        refused === undefined ? null : ((refused[reason as RejectionReason] ?? 0) * 1_000) / ms,
      ),
    }))
  }, [past, data])
  const waitAt = useMemo(() => past.map((it) => it.at), [past])
  return (
    <>
      <Choice view={view} />
      {error === null ? null : <Problem error={error} what="the past" onRetry={refetch} />}
      <div className="charts">
        <Chart title="Queued by lane" at={at} lines={depth} />
        <Chart title="Ended a second" at={at} lines={ended} />
        <Chart title="In flight" at={at} lines={flight} />
        <Chart title="Seconds until a start" at={waitAt} lines={waits} />
        {workers.length === 0 ? null : <Chart title="In flight by worker" at={waitAt} lines={workers} />}
        {refusals.length === 0 ? null : (
          <Chart title="Refused a second, by reason" at={waitAt} lines={refusals} />
        )}
      </div>
    </>
  )
}

const none: readonly Sample[] = []

const colors = ['normal', 'batch', 'completed', 'interactive', 'rejected', 'failed'] as const

function colorOf(index: number): string {
  return colors[index % colors.length] ?? 'normal'
}

/** How far back the charts reach, and of which tasks: all of it stands in the address. */
function Choice({ view: { windowMs, lane, type } }: { readonly view: View }) {
  const search = useSearch({ from: '/' })
  const navigate = useNavigate()
  const workers = useLiveQuery(['workers'], () => api().workers())
  const types = new Set<string>([
    ...(workers.data ?? []).flatMap((it) => it.types),
    ...(type === undefined ? [] : [type]),
  ])
  const choose = (next: ViewSearch) =>
    void navigate({
      to: '/',
      search: viewSearchOf({ ...search, ...next }),
      replace: true,
      resetScroll: false,
    })
  return (
    <p className="row wrap chart-window">
      <label>
        The last{' '}
        <select
          value={WINDOWS.find((it) => it.windowMs === windowMs)?.id}
          onChange={({ target }) => choose({ last: target.value === WINDOWS[0].id ? '' : target.value })}
        >
          {WINDOWS.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Lane{' '}
        <select value={lane ?? ''} onChange={({ target }) => choose({ lane: target.value })}>
          <option value="">all</option>
          {lanes.map((it) => (
            <option key={it} value={it}>
              {it}
            </option>
          ))}
        </select>
      </label>
      <label>
        Type{' '}
        <select value={type ?? ''} onChange={({ target }) => choose({ type: target.value })}>
          <option value="">all</option>
          {[...types].toSorted().map((it) => (
            <option key={it} value={it}>
              {it}
            </option>
          ))}
        </select>
      </label>
      {lane === undefined && type === undefined ? null : (
        <span className="faint">The charts show a part of the tasks; the figures above count all.</span>
      )}
    </p>
  )
}

function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1_000
}
