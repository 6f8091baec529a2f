import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scaledMs, slowness } from '../../../../tools/cpu/slowness.ts'
import { draws } from '../../../../tools/draws.ts'
import type { Receipt } from '../../src/index.ts'
import { eventually, folder, run } from '../real-processes.ts'
import { look, runsIn, workerProgram } from './crash.test.ts'

/** How often one of four processes is replaced; more often by RESTARTS. */
const restarts = Number(process.env['RESTARTS'] ?? draws(2, 2, 4))

describe('execution: resume after a crash', () => {
  test('a restart resumes long before the lease would end: the dead process is found out, not waited for', async () => {
    const path = folder()
    const files = [join(path, 'store.db'), join(path, 'ledger')] as const
    const first = run(workerProgram, ...files, '--submit', '1', '--die-after', '5')
    await first.ended
    const second = run(workerProgram, ...files)
    const line = await second.said('first step after')
    expect(Number(/\d+/.exec(line)?.[0]) / slowness()).toBeLessThan(10_000)
    expect(await second.ended).toEqual({ code: 0, signal: null })
    await using runtime = await look(files[0])
    const [task] = (await runtime.list()).tasks
    expect(task).toMatchObject({ state: 'completed', attempt: 2, crashes: 1, output: 't0 done' })
    expect(await runtime.leases(task?.taskId ?? '')).toMatchObject([
      { endReason: 'owner_dead' },
      { endReason: 'completed' },
    ])
  })

  test('J03 processes that are replaced one after another lose nothing, and repeat no recorded step', async () => {
    const path = folder()
    const files = [join(path, 'store.db'), join(path, 'ledger')] as const
    await using runtime = await look(files[0])
    const submitted = Array.from({ length: 8 }, (_, n) => ({ task: 'work', input: { name: `t${n}` } }))
    const receipts = await runtime.submitMany(submitted)
    /** A process that comes to that step with four tasks, or to their end. */
    const start = async (waitIn?: number) => {
      const waiting = waitIn === undefined ? [] : ['--wait-in', String(waitIn)]
      const worker = run(workerProgram, ...files, '--forever', '--grace', '1', ...waiting)
      const held = () => worker.lines.filter((line) => line.startsWith('waiting')).length
      if (waitIn !== undefined) await eventually(() => held() === 4)
      return worker
    }
    const running = await Promise.all([start(3), start(3)])
    for (const next of [6, 6, undefined, undefined]) {
      const stopped = running.shift()
      stopped?.process.kill('SIGTERM')
      expect(await stopped?.ended).toEqual({ code: 1, signal: null })
      running.push(await start(next))
    }
    const results = await Promise.all(receipts.map((receipt) => runtime.result(receipt)))
    expect(results).toEqual(receipts.map((_, n) => `t${n} done`))

    const runs = runsIn(files[1])
    for (const [n, { taskId }] of receipts.entries()) {
      const counts = Array.from({ length: 10 }, (_, step) => runs.get(`t${n} ${step}`)?.count)
      // Those that were under way when their process had to go.
      expect(counts).toEqual([1, 1, 1, 2, 1, 1, 2, 1, 1, 1])
      const leases = await runtime.leases(taskId)
      expect(leases.map(({ endReason }) => endReason)).toEqual(['drained', 'drained', 'completed'])
      expect(await runtime.status(taskId)).toMatchObject({ state: 'completed', attempt: 1, crashes: 0 })
    }
    expect([...runs.values()].filter(({ keys }) => keys.size !== 1)).toEqual([])
  })

  test(
    'J03 one of four has to go, again and again, while tasks come: each has its one end, and no recorded step runs again',
    { timeout: 300_000 + restarts * 10_000 },
    async () => {
      const path = folder()
      const files = [join(path, 'store.db'), join(path, 'ledger')] as const
      await using runtime = await look(files[0])
      const start = () => run(workerProgram, ...files, '--forever', '--grace', '1')
      const running = [start(), start(), start(), start()]
      const receipts: Receipt[] = []
      const results: Promise<unknown>[] = []
      for (let round = 0; round < restarts; round++) {
        const more = Array.from({ length: 100 }, (_, n) => ({
          task: 'work',
          input: { name: `t${round * 100 + n}` },
        }))
        const taken = await runtime.submitMany(more)
        const ends = taken.map((receipt) => runtime.result(receipt))
        receipts.push(...taken)
        results.push(...ends)
        const stopped = running.shift()
        // Before that it does not listen.
        await stopped?.said('submitted')
        await Promise.any(ends)
        stopped?.process.kill('SIGTERM')
        running.push(start())
        expect(await stopped?.ended).toMatchObject({ signal: null })
      }
      expect(await Promise.all(results)).toEqual(receipts.map((_, n) => `t${n} done`))

      const runs = runsIn(files[1])
      expect(runs.size).toBe(receipts.length * 10)
      expect([...runs.values()].filter(({ keys }) => keys.size !== 1)).toEqual([])
      let handedOn = 0
      for (const [n, { taskId }] of receipts.entries()) {
        const leases = await runtime.leases(taskId)
        // A step can have been under way only where a lease was given up.
        const again = Array.from({ length: 10 }, (_, step) => (runs.get(`t${n} ${step}`)?.count ?? 0) - 1)
        expect(again.reduce((sum, more) => sum + more)).toBeLessThan(leases.length)
        expect(leases.filter(({ endReason }) => endReason === 'completed')).toHaveLength(1)
        handedOn += leases.length - 1
        expect(await runtime.status(taskId)).toMatchObject({ state: 'completed', attempt: 1, crashes: 0 })
      }
      expect(handedOn).toBeGreaterThan(0)
    },
  )

  test('a result is heard of by a process that does not run the task', async () => {
    const path = folder()
    const files = [join(path, 'store.db'), join(path, 'ledger')] as const
    await using runtime = await look(files[0])
    const receipt = await runtime.submit('work', { name: 'far' })
    const result = runtime.result(receipt)
    run(workerProgram, ...files, '--forever')
    expect(await result).toBe('far done')
  })

  test('E02 cancel reaches a handler in another process in less than a second', async () => {
    const path = folder()
    const files = [join(path, 'store.db'), join(path, 'ledger')] as const
    await using runtime = await look(files[0])
    const { taskId } = await runtime.submit('work', { name: 'far' })
    const worker = run(workerProgram, ...files, '--forever', '--wait-in', '2')
    await worker.said('waiting far')
    const ms = await scaledMs(async () => {
      expect(await runtime.cancel(taskId)).toBe(true)
      expect(await runtime.status(taskId)).toMatchObject({ state: 'canceled' })
      expect(await worker.said('aborted far')).toBe('aborted far: TaskCanceled')
    })
    expect(ms).toBeLessThan(1_000)
  })
})
