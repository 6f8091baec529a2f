import { useMemo, useState } from 'react'
import { type Change, compareReports, rule } from '../../../../../agent-gym/src/compare/compare.ts'
import { showNumber, showValue } from '../../../../../agent-gym/src/report/numbers.ts'
import { Copy } from '../../ui/copy.tsx'
import { many } from '../../ui/format.ts'
import { Table } from '../../ui/table.tsx'
import { about } from './one-report.tsx'
import type { NamedReport } from './reports.ts'
import { Verdict } from './verdict.tsx'

/** Two reports beside each other, scenario by scenario. The rule is the gym's own. */
export function Comparing({ a, b }: { readonly a: NamedReport; readonly b: NamedReport }) {
  const [isAll, setAll] = useState(false)
  const found = useMemo(() => compareReports([a.report], [b.report]), [a, b])
  const { changes, regressed, warnings } = found
  const scenarios = [...new Set(changes.map(({ scenario }) => scenario))].map((id) => ({
    id,
    title: titleOf(a, b, id),
    changes: changes.filter((it) => it.scenario === id),
  }))
  const isBad = ({ verdict }: Change) => verdict === 'worse' || verdict === 'gone'
  const worse = changes.filter(isBad)
  const better = changes.filter(({ verdict }) => verdict === 'better')
  const shown = scenarios
    .filter((it) => isAll || it.changes.some(({ verdict }) => verdict !== 'same'))
    // What got worse stands first.
    .toSorted((x, y) => Number(y.changes.some(isBad)) - Number(x.changes.some(isBad)))
  const silent = scenarios.length - shown.length
  return (
    <>
      <div className="compared">
        <p className="why">
          <Verdict is={regressed ? 'worse' : 'passed'} word={regressed ? 'regressed' : 'no regression'} />{' '}
          {regressed
            ? `${many(worse.length, 'figure')} of ${many(new Set(worse.map(({ scenario }) => scenario)).size, 'scenario')} got worse. `
            : ''}
          {many(better.length, 'figure')} got better,{' '}
          {many(changes.length - worse.length - better.length, 'figure')} of{' '}
          {many(scenarios.length, 'scenario')} did not change beyond noise.
        </p>
        <ul className="plain faint">
          <li>
            A: {a.name} · {about(a.report)}
          </li>
          <li>
            B: {b.name} · {about(b.report)}
          </li>
        </ul>
        {warnings.map((warning) => (
          <p key={warning} className="held">
            Hard to compare: {warning}
          </p>
        ))}
        <div className="row wrap">
          <label className="check">
            <input type="checkbox" checked={isAll} onChange={({ target }) => setAll(target.checked)} /> Show
            what did not change, too
          </label>
          <Copy text={() => JSON.stringify(found, undefined, 2)} label="Copy as JSON" />
        </div>
        <details>
          <summary>What counts as worse</summary>
          <p>{rule}</p>
        </details>
      </div>
      {shown.map(({ id, title, changes: own }) => (
        <section key={id} aria-label={title}>
          <h2 className="scenario">
            {title} <span className="faint">{id}</span>
          </h2>
          <Table
            caption={`Figures of ${title}`}
            rows={own.filter(({ verdict }) => isAll || verdict !== 'same')}
            keyOf={({ figure }) => figure}
            columns={columns}
          />
        </section>
      ))}
      {silent === 0 ? null : (
        <p className="faint pad">{many(silent, 'scenario')} without a change beyond noise.</p>
      )}
    </>
  )
}

const columns = [
  { name: 'Verdict', show: ({ verdict }: Change) => <Verdict is={verdict} /> },
  { name: 'Figure', show: ({ figure }: Change) => figure },
  { name: 'A', show: ({ before, unit }: Change) => showValue(before, unit), isNumber: true },
  { name: 'B', show: ({ after, unit }: Change) => showValue(after, unit), isNumber: true },
  { name: 'Change', show: (change: Change) => deltaOf(change), isNumber: true },
  {
    name: 'Noise',
    show: ({ allowed }: Change) => (allowed === 0 ? 'none' : `± ${showNumber(allowed)}`),
    isNumber: true,
  },
]

/** How much more or less it is, also as a part of what it was. */
function deltaOf({ before, after }: Change): string {
  if (before === null || after === null) return '–'
  const difference = after - before
  const sign = difference > 0 ? '+' : difference < 0 ? '−' : ''
  const part =
    before === 0 ? '' : ` (${sign}${Math.round((100 * Math.abs(difference)) / Math.abs(before))} %)`
  return `${sign}${showNumber(Math.abs(difference))}${part}`
}

function titleOf(a: NamedReport, b: NamedReport, id: string): string {
  const of = ({ report }: NamedReport) => report.scenarios.find((it) => it.id === id)?.title
  return of(b) ?? of(a) ?? id
}
