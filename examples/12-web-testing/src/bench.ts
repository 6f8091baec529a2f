// Measures streaming against batch at sites of three speeds.
//
//   node bench.ts [--runs RUNS] [--page-ms MS]...
import { parseArgs } from 'node:util'
import { type Estimate, measure } from './measure.ts'
import { usual } from './site.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    'page-ms': { type: 'string', multiple: true, default: ['5', '20', '80'] },
  },
})
const runs = Number(values.runs)
const ms = ({ mean, within }: Estimate) => `${mean.toFixed(0)} ± ${within.toFixed(0)}`
const percent = ({ mean, within }: Estimate) => `${(100 * mean).toFixed(1)} ± ${(100 * within).toFixed(1)} %`

console.log(`${runs} runs each, means with intervals of 95 %; the paper says 40 to 60 %`)
console.log('| page, ms | batch, ms | pipeline, ms | shorter by | sum, ms | critical path, ms | at best |')
console.log('| --- | --- | --- | --- | --- | --- | --- |')
for (const pageMs of values['page-ms'].map(Number)) {
  const apiMs = (pageMs * usual.apiMs) / usual.pageMs
  const { batch, stream, reduction, sum, criticalPath, bound } = await measure(
    { ...usual, pageMs, apiMs },
    runs,
  )
  const row = [pageMs, ms(batch), ms(stream), percent(reduction), ms(sum), ms(criticalPath), percent(bound)]
  console.log(`| ${row.join(' | ')} |`)
}
