// Reviews a contract twice: once undisturbed, once with a process that dies while a lawyer thinks. Both give the same report.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OutputOf } from '@ku0/agent-runtime'
import type { reportSchema } from './review.ts'
import { openRuns } from './runs.ts'

const place = mkdtempSync(join(tmpdir(), 'contract-review-'))
try {
  await using runs = await openRuns(place)

  console.log('A review that nobody disturbs:')
  const whole = await runs.run('undisturbed.db')
  for (const said of whole.said) console.log(`  ${said}`)
  console.log('What failed on the way, and what was done about it:')
  for (const line of whole.lines)
    if (line.startsWith('failure: ')) console.log(`  ${line.slice('failure: '.length)}`)
  const report = whole.line('report: ')
  const { clauses, duties, risks, advice, total } = JSON.parse(report) as OutputOf<typeof reportSchema>
  console.log('The report:')
  console.log(`  ${clauses} clauses, ${duties} duties, a risk of ${total} in all`)
  for (const { article, asks, coverage, risk, clauses: where } of risks)
    console.log(
      `  ${risk.toFixed(1)} article ${article}, ${asks}: ${coverage}${where.map((it) => `, ${it}`).join('')}`,
    )
  for (const { wording } of advice) console.log(`  to add: ${wording}`)
  const { composite, paper } = JSON.parse(whole.line('scores: ')) as {
    composite: number
    paper: { byLegal: number; byDefault: number }
  }
  console.log(`  composite of this review by legal weights: ${composite.toFixed(4)}`)
  console.log(`  composite of the paper's scores by legal weights: ${paper.byLegal.toFixed(4)}`)
  console.log(`  composite of the paper's scores by default weights: ${paper.byDefault.toFixed(4)}`)

  console.log('A process that dies when the lawyer has the risks on her desk, and another that goes on:')
  const killed = await runs.run('killed.db', 'scoring asked')
  console.log(`  the first ended by ${killed.signal}`)
  const second = await runs.run('killed.db')
  console.log(`  the report is ${second.line('report: ') === report ? 'the same' : 'ANOTHER'}`)
} finally {
  rmSync(place, { recursive: true, force: true })
}
