import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { duration } from '../../ui/format.ts'
import { scaleOf } from './scale.ts'
import type { Span } from './spans.ts'

const MOST = 200

/** All bars on one axis of time; each is a button that shows what it was. */
export function Waterfall({
  spans,
  end,
  isLive,
  selected,
  onSelect,
}: {
  readonly spans: readonly Span[]
  /** When the task ended, or now. */
  readonly end: number
  readonly isLive: boolean
  readonly selected: string | undefined
  readonly onSelect: (span: Span) => void
}) {
  const [isWhole, setWhole] = useState(false)
  const [isTrue, setTrue] = useState(false)
  const first = spans[0]?.from ?? end
  const last = Math.max(end, ...spans.map(({ from, to }) => to ?? from))
  const { place, ticks, gaps } = scaleOf(spans, first, Math.max(last, first + 1), isTrue)
  const isShortened = isTrue || gaps.length > 0
  const hasChildren = spans.some(({ childId }) => childId !== undefined)
  const shown = isWhole ? spans : spans.slice(0, MOST)
  return (
    <div className={hasChildren ? 'waterfall has-children' : 'waterfall'}>
      <div className="axis" aria-hidden="true">
        {ticks.map(({ place: left, text }) => (
          <span key={left} style={{ left: `${left}%` }}>
            {text}
          </span>
        ))}
        {gaps.map(({ from, to }) => (
          <i key={from} style={{ left: `${from}%`, width: `${to - from}%` }} />
        ))}
      </div>
      <ul>
        {shown.map((span) => {
          const to = span.to ?? last
          const from = place(span.from)
          const took = span.to === undefined ? `${duration(to - span.from)} …` : duration(to - span.from)
          return (
            <li key={span.id} className={selected === span.id ? 'span selected' : 'span'}>
              <button
                type="button"
                data-row
                aria-pressed={selected === span.id}
                onClick={() => onSelect(span)}
              >
                <span className="span-name" title={span.name}>
                  <span className={`span-kind kind-${span.kind}`} aria-hidden="true" />
                  <span className="hidden">{span.kind} </span>
                  {span.name}
                </span>
                <span className="span-track" aria-hidden="true">
                  <span
                    className={`bar kind-${span.kind}${span.isBad ? ' bad' : ''}${span.to === undefined && isLive ? ' open' : ''}`}
                    style={{ left: `${from}%`, width: `max(3px, ${place(to) - from}%)` }}
                  />
                  {span.lease === undefined ? null : (
                    <span
                      className="held-line"
                      title={span.lease.words}
                      style={{
                        left: `${place(span.lease.from)}%`,
                        width: `max(3px, ${place(Math.min(span.lease.to, last)) - place(span.lease.from)}%)`,
                      }}
                    />
                  )}
                </span>
                <span className="span-took">
                  {took}
                  <span className="hidden">
                    {span.isBad ? ', failed' : ''}
                    {span.note === '' ? '' : `, ${span.note}`}
                    {span.lease === undefined ? '' : `, ${span.lease.words}`}
                  </span>
                </span>
              </button>
              {!hasChildren ? null : span.childId === undefined ? (
                <span className="span-link" />
              ) : (
                <Link to="/tasks/$taskId" params={{ taskId: span.childId }} className="span-link">
                  open<span className="hidden"> the child {span.name}</span>
                </Link>
              )}
            </li>
          )
        })}
      </ul>
      {spans.length > shown.length ? (
        <button type="button" onClick={() => setWhole(true)}>
          Show {spans.length - shown.length} more
        </button>
      ) : null}
      {isShortened ? (
        <label className="scale">
          <input type="checkbox" checked={isTrue} onChange={({ target }) => setTrue(target.checked)} /> Draw
          waits as long as they were
        </label>
      ) : null}
      <ul className="legend pad" aria-label="Colours">
        {(['queue', 'attempt', 'step', 'wait', 'approval', 'child'] as const).map((kind) => (
          <li key={kind}>
            <span className={`span-kind kind-${kind}`} aria-hidden="true" /> {kind}
          </li>
        ))}
        <li>
          <span className="held-line" aria-hidden="true" /> lease
        </li>
      </ul>
    </div>
  )
}
