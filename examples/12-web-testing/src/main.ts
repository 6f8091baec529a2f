// Tests a site three times: undisturbed, with a process that dies while pages are tested, and as a batch. All give the same report.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { events } from './events.ts'
import { measure } from './measure.ts'
import { openRuns } from './runs.ts'
import { usual } from './site.ts'

const place = mkdtempSync(join(tmpdir(), 'web-testing-'))
try {
  await using runs = await openRuns(place)

  console.log('A test that nobody disturbs:')
  const whole = await runs.run('undisturbed.db')
  const types = whole.lines.filter((line) => line.startsWith('event: ')).map((line) => line.split(' ')[2])
  const before = types.slice(0, types.indexOf('sitemap_built'))
  console.log(
    `  ${types.length} events; ${before.filter((it) => it === 'test_generated').length > 0 ? 'pages were tested' : 'NOTHING was tested'} before the site was read to its end`,
  )
  const report = whole.line('report: ')
  const { pages, tests, checks, calls, anomalies } = events.final_report.parse(JSON.parse(report))
  console.log(`  ${pages} pages, ${tests} tests with ${checks} checks, ${calls} calls of APIs`)
  for (const anomaly of anomalies) console.log(`  wrong: ${anomaly}`)
  const { composite, paper } = JSON.parse(whole.line('scores: ')) as { composite: number; paper: number }
  console.log(`  composite of this test: ${composite.toFixed(4)}`)
  console.log(`  composite of the paper's scores: ${paper.toFixed(4)}`)

  console.log('A process that dies when the first page is tested, and another that goes on:')
  const killed = await runs.run('killed.db', 'behavior works')
  console.log(`  the first ended by ${killed.signal}`)
  const second = await runs.run('killed.db')
  console.log(`  the report is ${second.line('report: ') === report ? 'the same' : 'ANOTHER'}`)

  console.log('The same as a batch, two runs of each:')
  const { batch, stream, reduction, bound } = await measure(usual, 2)
  const percent = (part: number) => `${(100 * part).toFixed(0)} %`
  console.log(`  ${batch.mean.toFixed(0)} ms as a batch, ${stream.mean.toFixed(0)} ms as a pipeline`)
  console.log(
    `  the pipeline took ${percent(1 - reduction.mean)} of that time; at best it would take ${percent(1 - bound.mean)}`,
  )
} finally {
  rmSync(place, { recursive: true, force: true })
}
