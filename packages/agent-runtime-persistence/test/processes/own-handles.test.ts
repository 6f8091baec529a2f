import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { openStore } from '../../src/index.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { besideTheDead, closedStoreFaults } from '../helpers/closed-store.ts'

export const { config } = parseExecutionConfig()
export const submission = { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] } as const

/** How often threads are ended; more often by THREAD_CYCLES. */
const cycles = Number(process.env['THREAD_CYCLES'] ?? draws(2, 10))

describe('processes and threads made while a store is open (docs/reliability.md D11)', () => {
  test('D11 a store is not handed to a thread by mistake', async () => {
    const store = await openStore('sqlite::memory:', { thread: false })
    expect(() => structuredClone(store)).toThrow(/could not be cloned/)
    await store.close()
  })

  const whole = { timeout: 30_000 + cycles * 1_000 }
  test(
    'D11 threads with stores of their own that end in the middle of writing lose nothing that was acknowledged',
    whole,
    async () => {
      const path = join(scratchFolder(), 'it.db')
      let acknowledged = 0
      for (let cycle = 1; cycle <= cycles; cycle++) {
        const threads = [0, 1].map(
          () => new Worker(join(import.meta.dirname, '../fixtures/write-on.ts'), { argv: [path] }),
        )
        let here = 0
        await new Promise<void>((enough, failed) => {
          for (const thread of threads) {
            thread.on('error', failed)
            thread.on('message', () => {
              here += 1
              if (here === (((cycle - 1) % 10) + 1) * 3) enough()
            })
          }
        })
        await Promise.all(threads.map((thread) => thread.terminate()))
        acknowledged += here
      }
      const store = await openStore(`sqlite:${path}`, { config, thread: false })
      const { totals } = await store.read({ kind: 'stats' })
      expect(totals.submitted + totals.rejected).toBeGreaterThanOrEqual(acknowledged)
      await store.close()
      expect(besideTheDead(await closedStoreFaults(path, config))).toEqual([])
    },
  )
})
