import { expect, test } from 'vitest'
import { newsIn, newsText } from '../../src/postgres/processes/news-text.ts'

test('a process finds in a notification who has committed what, and whom it concerns', () => {
  for (const news of ['all', 'takers', 'followers'] as const) {
    const told = { writer: 7, version: 12, news }
    expect(newsIn(newsText(told))).toEqual(told)
  }
})

test('a notification of another version of the program concerns all', () => {
  expect(newsIn('7')).toEqual({ writer: 7, version: 0, news: 'all' })
  expect(newsIn('7 12')).toEqual({ writer: 7, version: 12, news: 'all' })
  expect(newsIn('7 12 strangers')).toEqual({ writer: 7, version: 12, news: 'all' })
  expect(newsIn('come')).toEqual({ writer: Number.NaN, version: 0, news: 'all' })
})
