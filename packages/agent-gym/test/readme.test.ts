import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { measureNames } from '../src/measure/measure-names.ts'
import { loadScenarios, parseScenario } from '../src/scenario/load.ts'

const readme = readFileSync(resolve(import.meta.dirname, '../README.md'), 'utf8')

it('names every scenario, with its suite and its own words', () => {
  for (const { id, difficulty, about } of loadScenarios(resolve(import.meta.dirname, '../benchmarks/q4'))) {
    expect(readme).toContain(`- \`${id}\` (${difficulty}): ${about}`)
  }
})

it('names every measure', () => {
  for (const name of measureNames)
    expect(readme).toContain(`\`${name.replace(/\.(p50|p95|p99|max)(\.median)?$/, '.*')}\``)
})

it('shows a scenario that is one', () => {
  const block = /```json\n(.*?)```/s.exec(readme)?.[1] ?? ''
  expect(parseScenario(block, 'README.md').id).toBe('kill-one')
})
