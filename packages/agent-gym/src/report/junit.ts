import type { Report, ScenarioReport } from './report.ts'

/** The report as JUnit XML: a suite a category, a case a scenario. */
export function renderJunit(report: Report): string {
  const categories = [...new Set(report.scenarios.map(({ category }) => category))]
  const { total, failed } = report.summary.total
  const attributes = attributesOf({
    name: 'agent-gym',
    tests: total,
    failures: failed,
    time: seconds(report.durationMs),
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes}>`,
    ...categories.flatMap((category) => renderSuite(category, report)),
    '</testsuites>',
    '',
  ].join('\n')
}

function renderSuite(category: string, report: Report): string[] {
  const scenarios = report.scenarios.filter((scenario) => scenario.category === category)
  const attributes = attributesOf({
    name: category,
    tests: scenarios.length,
    failures: scenarios.filter(({ pass }) => !pass).length,
    errors: 0,
    skipped: 0,
    time: seconds(scenarios.reduce((sum, { durationMs }) => sum + durationMs, 0)),
    timestamp: report.startedAt,
  })
  return [`  <testsuite${attributes}>`, ...scenarios.flatMap(renderCase), '  </testsuite>']
}

function renderCase(scenario: ScenarioReport): string[] {
  const attributes = attributesOf({
    name: `${scenario.id}: ${scenario.title}`,
    classname: `${scenario.category}.${scenario.difficulty}`,
    time: seconds(scenario.durationMs),
  })
  const found = scenario.expectations.map(
    ({ measure, expected, measured, pass }) =>
      `${pass ? 'ok  ' : 'FAIL'} ${measure}: ${measured}, expected ${expected}`,
  )
  const output = `      <system-out>${text([...found, `repro: ${scenario.repro}`].join('\n'))}</system-out>`
  const failure = scenario.pass
    ? []
    : [
        `      <failure${attributesOf({ message: scenario.reason ?? 'failed', type: 'expectation' })}>${text(found.join('\n'))}</failure>`,
      ]
  return [`    <testcase${attributes}>`, ...failure, output, '    </testcase>']
}

function attributesOf(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(
      ([name, value]) =>
        ` ${name}="${text(String(value)).replaceAll('"', '&quot;').replaceAll('\n', '&#10;')}"`,
    )
    .join('')
}

/** Escaped, and without the control characters that XML cannot hold. */
function text(value: string): string {
  return Array.from(value)
    .filter((character) => isXmlCharacter(character.codePointAt(0) ?? 0))
    .join('')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}

function isXmlCharacter(code: number): boolean {
  if (code === 0x9 || code === 0xa || code === 0xd) return true
  return (code >= 0x20 && code <= 0xd7ff) || (code >= 0xe000 && code <= 0xfffd) || code >= 0x10000
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3)
}
