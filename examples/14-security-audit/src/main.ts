// Audits a weak server twice: once undisturbed, once with a process that dies while the scanners are at work. Both give the same report.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OutputOf } from '@ku0/agent-runtime'
import type { reportSchema } from './audit.ts'
import { openRuns } from './runs.ts'

const place = mkdtempSync(join(tmpdir(), 'security-audit-'))
try {
  await using runs = await openRuns(place)

  console.log('An audit that nobody disturbs:')
  const whole = await runs.run('undisturbed.db')
  for (const line of whole.lines.filter((it) => it.includes(' was asked: '))) console.log(`  ${line}`)
  const report = whole.line('report: ')
  const { findings, high, dismissed, probes } = JSON.parse(report) as OutputOf<typeof reportSchema>
  for (const { severity, by, title, where } of findings)
    console.log(`  ${severity.padEnd(6)} ${by}: ${title} (${where})`)
  console.log(
    `  ${findings.length} findings, ${high} of them high, by ${probes} probes; ${dismissed} were false alarms`,
  )
  const { composite, paper } = JSON.parse(whole.line('scores: ')) as {
    composite: number
    paper: { byDefault: number; bySecurity: number }
  }
  console.log(`  composite of this audit by the weights for security: ${composite.toFixed(4)}`)
  console.log(`  composite of the paper's scores by default weights: ${paper.byDefault.toFixed(4)}`)
  console.log(`  composite of the paper's scores by those for security: ${paper.bySecurity.toFixed(4)}`)

  console.log('A process that dies when the first scanner is done, and another that goes on:')
  const border = whole.lines.find((line) => /^border: (network|web|config) completed$/.test(line)) ?? ''
  const killed = await runs.run('killed.db', border.slice('border: '.length))
  console.log(`  the first ended by ${killed.signal}`)
  const second = await runs.run('killed.db')
  console.log(`  the report is ${second.line('report: ') === report ? 'the same' : 'ANOTHER'}`)
} finally {
  rmSync(place, { recursive: true, force: true })
}
