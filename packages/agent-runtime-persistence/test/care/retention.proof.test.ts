import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { rounds } from '../helpers/retention.ts'

test('6.6 the file stays as large as what it keeps', async () => {
  const sizeAfter = async (count: number) => {
    const path = join(scratchFolder(), 'kept.db')
    await rounds(path, count, 30)
    return statSync(path).size
  }
  const [few, many] = [await sizeAfter(3), await sizeAfter(9)]
  // What failed stays: 1 task of each round.
  expect(many / few).toBeLessThan(1.3)
})
