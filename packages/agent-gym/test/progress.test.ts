import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { createProgressView } from '../src/cli/progress.ts'
import { scenarioReport } from './report-builders.ts'

const progress = { run: 2, runs: 3, submitted: 40, started: 30, left: 25, tasks: 100 }
const failed = scenarioReport({ id: 'two', pass: false, reason: 'lost is 1, expected 0' })

function play(isTTY: boolean) {
  const written: string[] = []
  const view = createProgressView({ isTTY, columns: 60, write: (text) => written.push(text) })
  view.started('one', 1, 2)
  view.moved(progress)
  view.finished(scenarioReport())
  view.started('two', 2, 2)
  view.finished(failed)
  view.close()
  return written
}

it('X10 is a line a scenario where nobody watches, without control characters', () => {
  const text = play(false).join('')
  expect(text).toBe(stripVTControlCharacters(text))
  expect(text.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['pass', 'one', '1.2 s', 'resume p95: 412 ms'],
    ['FAIL', 'two', '1.2 s', 'resume p95: 412 ms'],
    ['lost is 1, expected 0'],
    [''],
  ])
})

it('is one living line on a terminal, never wider than it', () => {
  const written = play(true).map((text) => stripVTControlCharacters(text).replace('\r', ''))
  expect(written[0]).toBe('[1/2] one')
  expect(written[1]).toMatch(/^\[1\/2\] one {3}run 2 of 3, 40 of 100 submitted, 5 in handl/)
  expect(Math.max(...written.slice(0, 2).map(({ length }) => length))).toBeLessThan(60)
  expect(written[2]).toMatch(/^pass {2}one/)
})
