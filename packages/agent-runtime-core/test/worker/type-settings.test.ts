import { expect, test } from 'vitest'
import { differencesAmong, typeDifferences } from '../../src/worker/type-settings.ts'

const worker = (workerId: string, settings?: Record<string, Record<string, string>>) => ({
  workerId,
  ...(settings === undefined ? {} : { settings }),
})

test('8.11 each setting that is known differently is named, and a schema only where both can tell theirs', () => {
  const here = new Map([
    ['mail', { input: 'aaa', lane: 'normal', timeoutMs: '5' }],
    ['report', { lane: 'batch' }],
  ])
  const found = typeDifferences(here, [
    worker('same', { mail: { input: 'aaa', lane: 'normal', timeoutMs: '5' }, other: { lane: 'batch' } }),
    worker('w', {
      mail: { input: 'bbb', lane: 'batch', model: 'big' },
      report: { input: 'ccc', lane: 'batch' },
    }),
    worker('old'),
  ])
  expect(found).toEqual([
    { type: 'mail', setting: 'input', here: 'aaa', there: 'bbb', workerId: 'w' },
    { type: 'mail', setting: 'lane', here: 'normal', there: 'batch', workerId: 'w' },
    { type: 'mail', setting: 'model', here: undefined, there: 'big', workerId: 'w' },
    { type: 'mail', setting: 'timeoutMs', here: '5', there: undefined, workerId: 'w' },
  ])
})

test('8.11 among workers each difference is reported once, against the first that knows the type', () => {
  const workers = [
    worker('a', { mail: { lane: 'normal' } }),
    worker('b', { mail: { lane: 'batch' } }),
    worker('c', { mail: { lane: 'batch' } }),
    worker('d', { mail: { lane: 'normal' } }),
  ]
  expect(differencesAmong(workers)).toEqual([
    { type: 'mail', setting: 'lane', here: 'normal', there: 'batch', workerId: 'b', first: 'a' },
  ])
  expect(differencesAmong(workers.slice(1, 3))).toEqual([])
})
