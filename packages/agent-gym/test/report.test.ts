import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { judgeCriteria } from '../src/report/acceptance.ts'
import { renderConsole } from '../src/report/console.ts'
import { renderHtml } from '../src/report/html.ts'
import { renderJunit } from '../src/report/junit.ts'
import { showDuration, showNumber, showValue } from '../src/report/numbers.ts'
import { plotsOf } from '../src/report/plots.ts'
import { readReport } from '../src/report/read-report.ts'
import { Report, tally } from '../src/report/report.ts'
import { writeReport } from '../src/report/write-report.ts'
import { completedTask, goodRun, history, measured, started, taskWith } from './builders.ts'
import { report, scenarioReport } from './report-builders.ts'

const bad = scenarioReport({
  id: 'two',
  pass: false,
  reason: 'lost is 1, expected 0\u0007 <script>',
  expectations: [
    {
      measure: 'lost',
      expected: '0',
      measured: 1,
      unit: '',
      samples: 1,
      pass: false,
      cases: ['task-1 "x" & y'],
    },
  ],
})

describe('the report', () => {
  it('has a score of 100 x passed / total', () => {
    expect(tally([{ pass: true }, { pass: true }, { pass: false }, { pass: true }])).toEqual({
      total: 4,
      passed: 3,
      failed: 1,
      passRate: 0.75,
      score: 75,
    })
    expect(tally([])).toMatchObject({ score: 0 })
  })

  it('refuses a field it does not know', () => {
    expect(Report.safeParse({ ...report(), extra: 1 }).success).toBe(false)
    expect(Report.safeParse({ ...report(), schemaVersion: 2 }).success).toBe(false)
  })

  it('is read back as it was written, with its page and its JUnit file beside it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gym-report-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'new', 'q4.json')
    const files = writeReport(file, report(), new Map())
    expect(readdirSync(join(folder, 'new')).toSorted()).toEqual(['q4.html', 'q4.json', 'q4.junit.xml'])
    expect(files).toHaveLength(3)
    expect(readReport(file)).toEqual(report())
    expect(() => readReport(join(folder, 'new', 'q4.html'))).toThrow('q4.html')
  })

  it('says which criteria are met, and which were not measured', () => {
    const criteria = judgeCriteria([
      scenarioReport({ acceptance: ['resume'] }),
      scenarioReport({ acceptance: ['concurrency'] }),
      { ...bad, acceptance: ['concurrency'] },
    ])
    expect(criteria.map(({ id, verdict }) => [id, verdict])).toEqual([
      ['concurrency', 'not met'],
      ['resume', 'met'],
      ['cancellation', 'not measured'],
      ['backpressure', 'not measured'],
    ])
  })
})

describe('the JUnit file', () => {
  const xml = renderJunit(report([scenarioReport(), bad]))

  it('counts and names, and can be parsed', () => {
    expect(xml).toContain('<testsuites name="agent-gym" tests="2" failures="1" time="5.000">')
    expect(xml).toContain('name="one: One &amp; only &lt;scenario&gt;"')
    expect(xml.match(/<testcase /g)).toHaveLength(2)
    expect(xml.match(/<failure /g)).toHaveLength(1)
    const opened = xml.match(/<[a-z-]+/g)?.length
    const closed = xml.match(/<\/[a-z-]+/g)?.length
    expect(opened).toBe(closed)
  })

  it('holds no character that XML forbids', () => {
    expect(xml).not.toContain('\u0007')
    expect(xml).not.toContain('<script>')
  })
})

describe('the page', () => {
  const page = renderHtml(report([scenarioReport(), bad]), new Map([['one', plotsOf(measured(goodRun(20)))]]))

  it('begins with the result, and folds criteria and rows', () => {
    expect(page).toContain('<h1>1 of 2 scenarios failed</h1>')
    expect(page).toMatch(/<p>[\d ]+ tasks were accepted and 0 lost\. No effect was repeated\.<\/p>/)
    expect(page).toContain('<details><summary>Acceptance criteria</summary>')
    expect(page).not.toContain('One task whose process was killed')
  })

  it('tells the story of a task whose process was killed', () => {
    const events = history(
      ['task.queued', 1200, {}],
      ['task.started', 1210, started(9, 1)],
      ['step.completed', 1215, { key: 'hash:0', position: 0, result: 1 }],
      ['step.completed', 1220, { key: 'hash:1', position: 1, result: 2 }],
      ['task.requeued', 1240, { reason: 'owner_dead', leaseId: 'lease-9-1' }],
      ['task.started', 1250, started(9, 2)],
      ['step.completed', 1260, { key: 'hash:2', position: 2, result: 3 }],
      ['task.completed', 1270, { leaseId: 'lease-9-2', output: {} }],
    )
    const killed = goodRun(3, { tasks: [taskWith(9, events, { state: 'completed' }), completedTask(1)] })
    const story = renderHtml(report(), new Map([['one', plotsOf(measured(killed))]]))
    const text = story.slice(story.indexOf('One task whose process'), story.indexOf('</ol>'))
    expect(text.match(/class="bar killed"/g)).toHaveLength(1)
    expect(text.match(/class="step"/g)).toHaveLength(3)
    expect(text).toMatch(/0 ms<\/b> .* starts the task\./)
    expect(text).toMatch(
      /30 ms<\/b> .* killed in the middle of the task\. 2 steps of this process are recorded\./,
    )
    expect(text).toMatch(/40 ms<\/b> .* none of them runs again\./)
    expect(text).toMatch(/60 ms<\/b> The task completes, after 1 step more\./)
  })

  it('needs nothing from elsewhere', () => {
    expect(page).not.toMatch(/(src|href)="(?!#)/)
    expect(page).not.toMatch(/https?:|@import|url\(|<script|<link/)
  })

  it('shows its plots, with units on their axes', () => {
    for (const title of ['Queue depth by lane', 'Tasks in flight', 'Time in the queue', 'Attempts by worker'])
      expect(page).toContain(title)
    expect(page).toContain('ms from the start of the scenario')
    expect(page).not.toMatch(/NaN|undefined|Infinity/)
  })

  it('X10 escapes what it shows', () => {
    expect(page).toContain('One &amp; only &lt;scenario&gt;')
    expect(page).toContain('task-1 &quot;x&quot; &amp; y')
  })
})

describe('the console', () => {
  it('ends with a table and the four criteria', () => {
    const text = renderConsole(report([scenarioReport({ acceptance: ['resume'] }), bad]), ['/r/q4.json'])
    expect(text).toMatch(/pass +one +resume p95: 412 ms +1\.2 s/)
    expect(text).toMatch(/FAIL +two/)
    expect(text).toMatch(/met +resume within 1 s/)
    expect(text).toMatch(/not measured +cancellation/)
    expect(text).toContain('1 of 2 passed, score 50')
  })

  it('shows figures for a person', () => {
    expect([
      showNumber(null),
      showNumber(21_499.6),
      showNumber(2.34567),
      showNumber(0.4936),
      showNumber(20_000),
    ]).toEqual(['–', '21 500', '2.35', '0.494', '20 000'])
    expect([showValue(412.4, 'ms'), showValue('mixed', 'ms'), showValue(Infinity, 'ms')]).toEqual([
      '412 ms',
      'mixed',
      'never',
    ])
    expect([showDuration(850), showDuration(12_300), showDuration(125_000)]).toEqual([
      '850 ms',
      '12.3 s',
      '2 min 5 s',
    ])
  })
})
