import { join } from 'node:path'
import { StoreError } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { inspectStore } from '../../src/index.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { lived } from '../helpers/whole-life.ts'

test('an inspection in a thread of its own finds the same', async () => {
  const url = `sqlite:${await lived()}`
  const { clock, ...found } = await inspectStore(url, { thread: true })
  const { clock: own, ...here } = await inspectStore(url)
  expect(found).toEqual(here)
  expect([clock.isThisBoot, clock.at <= own.at]).toEqual([own.isThisBoot, true])
})

test('an error that refuses it keeps its code and its class', async () => {
  const nowhere = `sqlite:${join(scratchFolder(), 'none.db')}`
  await expect(inspectStore(nowhere, { thread: true })).rejects.toMatchObject({ code: 'not_found' })
  await expect(inspectStore(import.meta.filename, { thread: true })).rejects.toBeInstanceOf(StoreError)
  await expect(inspectStore(nowhere, { thread: 1 as never })).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('thread') as string,
  })
})
