import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { folder, run } from '../real-processes.ts'

const workerProgram = new URL('../processes/worker.ts', import.meta.url)

describe('execution: signals', () => {
  test('A22 SIGTERM with nothing running drains and exits with 0', async () => {
    const path = folder()
    const worker = run(
      workerProgram,
      join(path, 'store.db'),
      join(path, 'ledger'),
      '--forever',
      '--submit',
      '0',
    )
    await worker.said('submitted')
    worker.process.kill('SIGTERM')
    expect(await worker.ended).toEqual({ code: 0, signal: null })
  })
})
