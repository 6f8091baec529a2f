import { expect, test } from 'vitest'
import { filterOf, listFilterOf, problemsOf } from '../src/pages/tasks/filter.ts'

const states = 'There are queued, running, waiting, completed, failed, canceled and rejected.'

test.each([
  [{ states: 'stuck' }, `“stuck” names no state. ${states}`],
  [{ states: 'failed,stuck,lost' }, `“stuck, lost” names no state. ${states}`],
  [{ states: ',' }, `“,” names no state. ${states}`],
  [{ lanes: 'bulk' }, '“bulk” names no lane. There are interactive, normal and batch.'],
  [{ types: ' , ' }, '“ , ” names no task type.'],
  [{ label: ',' }, '“,” names no label. A label is written as name=value.'],
  [{ label: 'team=docs,=x' }, '“team=docs,=x” names no label. A label is written as name=value.'],
])('of the filter %j it is said what names nothing', (search, problem) => {
  expect(problemsOf(filterOf(search))).toEqual([problem])
})

test('words that are unknown never make a filter of all tasks', () => {
  expect(listFilterOf({ states: 'stuck', lanes: 'bulk' })).toEqual({ states: [], lanes: [] })
})

test('a filter that can be read has no problem, and takes the other spelling of a state', () => {
  const filter = filterOf({
    states: 'failed,cancelled',
    lanes: 'batch',
    label: 'team=docs,urgent',
    more: 'x',
  })
  expect(problemsOf(filter)).toEqual([])
  expect(listFilterOf(filter)).toEqual({
    states: ['failed', 'canceled'],
    lanes: ['batch'],
    labels: { team: 'docs', urgent: '' },
  })
  expect(problemsOf(filterOf({}))).toEqual([])
})
