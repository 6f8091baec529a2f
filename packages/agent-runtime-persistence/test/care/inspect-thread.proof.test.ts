import { join } from 'node:path'
import { StoreError } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { inspectStore } from '../../src/index.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

test('an error that refuses it keeps its code and its class', async () => {
  const nowhere = `sqlite:${join(scratchFolder(), 'none.db')}`
  await expect(inspectStore(nowhere, { thread: true })).rejects.toMatchObject({ code: 'not_found' })
  await expect(inspectStore(import.meta.filename, { thread: true })).rejects.toBeInstanceOf(StoreError)
  await expect(inspectStore(nowhere, { thread: 1 as never })).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('thread') as string,
  })
})
