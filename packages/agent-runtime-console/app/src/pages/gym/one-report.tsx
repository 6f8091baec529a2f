import { showDuration, showNumber, showValue } from '../../../../../agent-gym/src/report/numbers.ts'
import type { Report, ScenarioReport } from '../../../../../agent-gym/src/report/report.ts'
import { Table } from '../../ui/table.tsx'
import { Verdict } from './verdict.tsx'
import type { NamedReport } from './reports.ts'

/** A report by itself. */
export function OneReport({ named: { name, report } }: { readonly named: NamedReport }) {
  const { passed, total } = report.summary.total
  return (
    <>
      <p className="why">
        {passed === total
          ? `All ${total} scenarios passed`
          : `${total - passed} of ${total} scenarios failed`}
        . {showNumber(report.kpis.tasks.accepted)} tasks were accepted, {showNumber(report.kpis.tasks.lost)}{' '}
        lost.
      </p>
      <p className="faint">
        {name} · {about(report)}
      </p>
      <h2>Scenarios</h2>
      <Table
        caption="Scenarios"
        rows={report.scenarios}
        keyOf={({ id }) => id}
        columns={[
          { name: 'Verdict', show: ({ pass }) => <Verdict is={pass ? 'passed' : 'failed'} /> },
          { name: 'Scenario', show: (scenario) => <Measured scenario={scenario} /> },
          { name: 'Suite', show: ({ difficulty }) => difficulty, isExtra: true },
          { name: 'Key figure', show: ({ figure }) => figure },
          { name: 'Took', show: ({ durationMs }) => showDuration(durationMs), isNumber: true },
        ]}
      />
      <h2>Acceptance criteria</h2>
      <Table
        caption="Acceptance criteria"
        rows={report.acceptance}
        keyOf={({ id }) => id}
        columns={[
          {
            name: 'Verdict',
            show: ({ verdict }) => (
              <Verdict
                is={verdict === 'met' ? 'passed' : verdict === 'not met' ? 'failed' : 'none'}
                word={verdict}
              />
            ),
          },
          { name: 'Criterion', show: ({ title }) => title },
          { name: 'Rests on', show: ({ evidence }) => evidence.join('; ') || 'no scenario of this run' },
        ]}
      />
    </>
  )
}

/** When, where and on what a report was made. */
export function about({ startedAt, suite, seed, env, durationMs }: Report): string {
  return [
    `${startedAt.slice(0, 16).replace('T', ' ')} UTC`,
    `suite ${suite}, seed ${seed}`,
    `took ${showDuration(durationMs)}`,
    `Node ${env.node.replace('v', '')}`,
    `${env.cpus} × ${env.cpu}`,
    `store ${env.store}, ${env.durability}`,
  ].join(' · ')
}

/** A scenario with what it measured. */
function Measured({
  scenario: { title, about: text, reason, expectations },
}: {
  readonly scenario: ScenarioReport
}) {
  return (
    <details>
      <summary>{title}</summary>
      <p>{text}</p>
      {reason === undefined ? null : <p className="bad-note">{reason}</p>}
      <ul className="plain measures">
        {expectations.map(({ measure, expected, measured, unit, pass }) => (
          <li key={`${measure} ${expected}`}>
            <Verdict is={pass ? 'passed' : 'failed'} /> {measure}: {showValue(measured, unit)},{' '}
            <span className="faint">expected {expected}</span>
          </li>
        ))}
      </ul>
    </details>
  )
}
