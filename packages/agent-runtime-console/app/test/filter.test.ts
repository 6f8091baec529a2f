import fc from 'fast-check'
import { expect, test } from 'vitest'
import { filterOf, labelText, listFilterOf, listPathOf, problemsOf } from '../src/pages/tasks/filter.ts'

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

test('a label is written with any value, and read back from the address', () => {
  const written = `${String.raw`places=Bern\, Basel, path=C:\\,blank=\ , odd=C:\x`}\\`
  expect(listFilterOf({ label: written }).labels).toEqual({
    places: 'Bern, Basel',
    path: 'C:\\',
    blank: ' ',
    odd: 'C:\\x\\',
  })
  expect(listPathOf({ label: written })).toContain('label=places%3DBern%2C+Basel&')
  const piece = fc.string({ unit: fc.constantFrom(',', '\\', ' ', '\n', '=', 'a', '☃') })
  const name = piece.filter((it) => it !== '' && !it.includes('='))
  fc.assert(
    fc.property(fc.dictionary(name, piece, { noNullPrototype: true }), (labels) => {
      const search = new URLSearchParams({ label: labelText(labels) })
      const filter = filterOf(Object.fromEntries(new URLSearchParams(search.toString())))
      expect(listFilterOf(filter).labels ?? {}).toEqual(labels)
      expect(problemsOf(filter)).toEqual([])
    }),
  )
})
