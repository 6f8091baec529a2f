import { suiteSections } from '@ku0/agent-runtime-conformance'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parts } from './parts.ts'

test('every section of the suite is run by one file', () => {
  const sections: readonly string[] = Object.values(parts).flat()
  expect(sections.toSorted()).toEqual(suiteSections.toSorted())
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test.ts'))
  const run = files.flatMap((name) =>
    [...readFileSync(`${import.meta.dirname}/${name}`, 'utf8').matchAll(/^conformance\('(\w+)'\)$/gm)].map(
      ([, part = '']) => part,
    ),
  )
  expect(run.toSorted()).toEqual(Object.keys(parts).toSorted())
})
