import { expect, test } from 'vitest'
import { BoundedLabels } from '../src/bounded-labels.ts'

test('the first values keep their names, all later ones share one', () => {
  const labels = new BoundedLabels(2, '_other')
  expect(['a', 'b', 'c', 'a', 'd', 'b'].map((value) => labels.of(value))).toEqual([
    'a',
    'b',
    '_other',
    'a',
    '_other',
    'b',
  ])
})

test('a value that is not trusted takes no place', () => {
  const labels = new BoundedLabels(1, '_other')
  expect(labels.ofUntrusted('junk')).toBe('_other')
  expect(labels.of('a')).toBe('a')
  expect(labels.ofUntrusted('a')).toBe('a')
})

test('a name that is no name is not one either', () => {
  const labels = new BoundedLabels(1, '_other')
  expect(labels.of('x'.repeat(201))).toBe('_other')
  expect(labels.of('x'.repeat(200))).toBe('x'.repeat(200))
})
