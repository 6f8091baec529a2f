import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask } from '../src/index.ts'
import { folder } from './real-processes.ts'

const greet = defineTask({ type: 'greet', input: z.string() }, () => null)

test('a runtime on a store that lost commits starts only when that is accepted, and says what is missing', async () => {
  const path = join(folder(), 'it.db')
  const lines: { fields: object; message: string }[] = []
  const keep = (fields: object, message: string) => void lines.push({ fields, message })
  const options = {
    store: `sqlite:${path}`,
    thread: false,
    tasks: [greet],
    logger: { debug: keep, info: keep, warn: keep, error: keep },
    telemetry: false,
  } as const
  const first = await createRuntime(options)
  await first.submit(greet, 'Ada')
  await first.stop()
  rmSync(path)
  await expect(createRuntime(options)).rejects.toMatchObject({
    code: 'store_data_loss',
    details: { kind: 'other_store', lastGood: 0 },
  })
  expect(lines).toEqual([])
  const second = await createRuntime({ ...options, acceptLoss: true })
  expect(second.info.acceptedLoss).toMatchObject({ kind: 'other_store', lastGood: 0 })
  expect(lines).toEqual([
    { message: 'the store was opened although commits are missing', fields: second.info.acceptedLoss },
  ])
  await second.stop()
  const third = await createRuntime(options)
  expect(third.info.acceptedLoss).toBeUndefined()
  await third.stop()
})
