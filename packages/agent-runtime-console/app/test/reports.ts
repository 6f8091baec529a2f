import type { ReportSource } from '@ku0/agent-runtime-server'
import { report, scenarioReport } from '../../../agent-gym/test/report-builders.ts'

type Scenario = Parameters<typeof scenarioReport>[0]

function scenario(id: string, title: string, rate: number, change: Scenario = {}) {
  return scenarioReport({
    id,
    title,
    figure: `${rate} tasks/s`,
    expectations: [
      {
        measure: 'throughput',
        expected: 'at least 1000',
        measured: rate,
        unit: 'tasks/s',
        samples: 3,
        pass: rate >= 1_000,
      },
      { measure: 'lost', expected: '0', measured: 0, unit: '', samples: 1, pass: true },
    ],
    ...change,
  })
}

/** Two runs of the gym: in the second one scenario is slower, one is quicker, one is the same, and one is new. */
export const before = report([
  scenario('drain', 'A queue is drained', 20_000),
  scenario('steps', 'Durable steps', 12_000),
  scenario('naps', 'Ten thousand naps', 5_000),
])
export const after = report(
  [
    scenario('drain', 'A queue is drained', 9_000),
    scenario('steps', 'Durable steps', 18_000),
    scenario('naps', 'Ten thousand naps', 5_010),
    scenario('chaos', 'Everything at once', 900, { pass: false, reason: 'throughput: 900 tasks/s' }),
  ],
  { startedAt: '2026-11-22T10:00:00.000Z', seed: 2 },
)

const texts = new Map([
  ['before.json', JSON.stringify(before)],
  ['after.json', JSON.stringify(after)],
])

/** The reports that a server was given. */
export const reports: ReportSource = {
  list: async () =>
    [...texts].map(([name, text]) => ({ name, bytes: text.length, changedAt: 1_700_000_000_000 })),
  read: async (name) => texts.get(name),
}
