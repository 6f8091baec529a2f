import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { scaledMs } from '../../../../tools/cpu/slowness.ts'
import { createRuntime, defineTask } from '../../src/index.ts'
import { folder, run } from '../real-processes.ts'

const lockHolder = new URL('../processes/lock-holder.ts', import.meta.url)
const workerProgram = new URL('../processes/worker.ts', import.meta.url)

/** Sees the store, and works on nothing. */
async function look(database: string) {
  const work = defineTask({ type: 'work', input: z.any() }, () => {})
  return createRuntime({ store: `sqlite:${database}`, tasks: [work], workers: 0, logger: false })
}

async function tasksIn(database: string) {
  await using runtime = await look(database)
  return (await runtime.list()).tasks
}

function workerIn(path: string, ...args: readonly string[]) {
  return run(workerProgram, join(path, 'store.db'), join(path, 'ledger'), '--forever', ...args)
}

describe('execution: signals', () => {
  test('A22 SIGTERM gives running tasks their grace, then back to the queue with the same attempt, and exits with 1', async () => {
    const path = folder()
    const worker = workerIn(path, '--submit', '2', '--wait-in', '3', '--grace', '300')
    await worker.said('waiting t0')
    await worker.said('waiting t1')
    const begun = performance.now()
    worker.process.kill('SIGTERM')
    expect(await worker.ended).toEqual({ code: 1, signal: null })
    expect(performance.now() - begun).toBeGreaterThan(300)
    expect(await tasksIn(join(path, 'store.db'))).toMatchObject([
      { state: 'queued', attempt: 1, crashes: 0, steps: 3 },
      { state: 'queued', attempt: 1, crashes: 0, steps: 3 },
    ])
  })

  test('A22 a second signal stops at once, and exits with 128 and its number', async () => {
    const path = folder()
    const worker = workerIn(path, '--submit', '1', '--wait-in', '0', '--deaf')
    await worker.said('waiting t0')
    worker.process.kill('SIGTERM')
    {
      await using runtime = await look(join(path, 'store.db'))
      await expect.poll(() => runtime.workers()).toMatchObject([{ state: 'draining' }])
    }
    worker.process.kill('SIGINT')
    expect((await worker.ended).code).toBe(130)
    expect(await tasksIn(join(path, 'store.db'))).toMatchObject([{ state: 'queued', attempt: 1, crashes: 0 }])
  })

  /** A worker whose database another process holds gets two signals. */
  async function twoSignals(
    database: string,
    until: string,
    second: NodeJS.Signals,
    args: readonly string[],
  ) {
    const worker = workerIn(dirname(database), ...args)
    await worker.said(until)
    const holder = run(lockHolder, database)
    await holder.said('locked')
    worker.process.kill('SIGTERM')
    await worker.said('draining')
    const ms = await scaledMs(() => {
      worker.process.kill(second)
      return worker.ended
    })
    const { code } = await worker.ended
    holder.process.stdin?.end()
    await holder.ended
    return { code, ms }
  }

  test('a second signal does not wait for another process that holds the database', async () => {
    const database = join(folder(), 'store.db')
    const args = ['--submit', '1', '--wait-in', '0', '--deaf']
    const { code, ms } = await twoSignals(database, 'waiting t0', 'SIGINT', args)
    expect(code).toBe(130)
    expect(ms).toBeLessThan(2_000)
    // It could not give its task back, so the task is that of a process that died, once that is noticed.
    await using runtime = await look(database)
    const tasks = async () => (await runtime.list()).tasks
    await expect.poll(tasks).toMatchObject([{ state: 'queued', attempt: 2, crashes: 1 }])
  })

  test('nothing is said either when nothing runs', async () => {
    const { code, ms } = await twoSignals(join(folder(), 'store.db'), 'submitted', 'SIGTERM', [])
    expect(code).toBe(143)
    expect(ms).toBeLessThan(2_000)
  })

  test('A22 SIGTERM with nothing running drains and exits with 0', async () => {
    const path = folder()
    const worker = workerIn(path, '--submit', '0')
    await worker.said('submitted')
    worker.process.kill('SIGTERM')
    expect(await worker.ended).toEqual({ code: 0, signal: null })
  })
})
