import { expect, test } from 'vitest'
import { inspectStore } from '../../src/index.ts'
import { lived } from '../helpers/whole-life.ts'

test('an inspection in a thread of its own finds the same', async () => {
  const url = `sqlite:${await lived()}`
  const { clock, ...found } = await inspectStore(url, { thread: true })
  const { clock: own, ...here } = await inspectStore(url)
  expect(found).toEqual(here)
  expect([clock.isThisBoot, clock.at <= own.at]).toEqual([own.isThisBoot, true])
})
