import { loadavg } from 'node:os'
import { writeFileSync } from 'node:fs'
import { z } from 'zod'
import { machineNow, table, today, versionsNow } from './evidence.ts'
import { showNumber, showValue } from './numbers.ts'
import type { Report } from './report.ts'

/** The result of a scenario as it is kept: what it measured, on what, and beside how much. */
export const KeptScenario = z.strictObject({
  id: z.string(),
  title: z.string(),
  passed: z.boolean(),
  /** The command that runs it again. */
  command: z.string(),
  seconds: z.number(),
  measures: z.array(
    z.strictObject({
      measure: z.string(),
      expected: z.string(),
      measured: z.string(),
      /** On how many observations it rests. */
      samples: z.number(),
    }),
  ),
  commit: z.string(),
  date: z.string(),
  machine: z.string(),
  versions: z.string(),
  load: z.number(),
})
export type KeptScenario = z.infer<typeof KeptScenario>

/** The scenarios of a report that was made just now, on this machine. */
export function keptScenarios({ scenarios, env }: Report, commit: string): readonly KeptScenario[] {
  return scenarios.map(({ id, title, pass, repro, durationMs, expectations }) => ({
    id,
    title,
    passed: pass,
    command: repro,
    seconds: Math.round(durationMs / 1_000),
    measures: expectations.map(({ measure, expected, measured, unit, samples }) => ({
      measure,
      expected,
      measured: showValue(measured, unit),
      samples,
    })),
    commit,
    date: today(),
    machine: machineNow(),
    versions:
      env.store === 'sqlite' ? `${versionsNow()}, \`synchronous=FULL\`` : `${versionsNow()}, ${env.store}`,
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  }))
}

/** Puts scenarios in the place of their runs before, or beside the others, by id. */
export function keepScenarios(
  path: string,
  before: readonly KeptScenario[],
  done: readonly KeptScenario[],
): readonly KeptScenario[] {
  const others = before.filter(({ id }) => !done.some((it) => it.id === id))
  const all = [...others, ...done].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  writeFileSync(path, `${JSON.stringify(all, undefined, 2)}\n`)
  return all
}

/** Scenarios as a page. */
export function scenariosPage(kept: readonly KeptScenario[]): string {
  return [
    '# Evidence: long scenarios',
    '',
    'The last long runs of `pnpm gym --only ID --keep docs/evidence/scenarios.json --evidence`; what each does: [the gym](../../packages/agent-gym/README.md#the-scenarios).',
    ...kept.flatMap((it) => ['', `## ${it.id}`, '', `${it.title}.`, '', ...tablesOf(it)]),
    '',
  ].join('\n')
}

function tablesOf(it: KeptScenario): readonly string[] {
  return [
    ...table(
      ['', ''],
      [
        ['verdict', it.passed ? 'passed' : 'failed'],
        ['command', `\`${it.command}\``],
        ['commit', it.commit],
        ['date', it.date],
        ['machine', it.machine],
        ['versions', it.versions],
        ['time', `${it.seconds} s`],
        ['load', `${it.load} in its last minute, its own processes among it`],
      ],
    ),
    '',
    ...table(
      ['measure', 'measured', 'expected', 'samples'],
      it.measures.map(({ measure, expected, measured, samples }) => [
        measure,
        measured,
        expected,
        showNumber(samples),
      ]),
    ),
  ]
}
