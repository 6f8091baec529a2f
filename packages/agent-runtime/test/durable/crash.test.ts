import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { draws } from '../../../../tools/draws.ts'
import { createRuntime, defineTask } from '../../src/index.ts'
import { folder, run } from '../real-processes.ts'

export const workerProgram = new URL('../processes/worker.ts', import.meta.url)

/** How often each step ran, by `task step`. */
export function runsIn(
  ledger: string,
): Map<string, { readonly count: number; readonly keys: ReadonlySet<string> }> {
  const runs = new Map<string, { count: number; keys: Set<string> }>()
  for (const line of readFileSync(ledger, 'utf8').trim().split('\n')) {
    const [name, index, , key = ''] = line.split(' ')
    const entry = runs.get(`${name} ${index}`) ?? { count: 0, keys: new Set() }
    entry.count += 1
    entry.keys.add(key)
    runs.set(`${name} ${index}`, entry)
  }
  return runs
}

/** Reads the database without working on it. */
export async function look(database: string) {
  const work = defineTask({ type: 'work', input: z.any() }, () => {})
  return createRuntime({
    store: `sqlite:${database}`,
    thread: false,
    tasks: [work],
    workers: 0,
    logger: false,
  })
}

/** Goes on with the tasks of a process that died, as another process does: their steps are those of `workerProgram`. */
async function goOn(database: string, ledger: string): Promise<readonly string[]> {
  const work = defineTask({ type: 'work', input: z.object({ name: z.string() }) }, async (ctx, { name }) => {
    for (let index = 0; index < 10; index += 1)
      await ctx.step(`step ${index}`, ({ idempotencyKey }) => {
        appendFileSync(ledger, `${name} ${index} ${ctx.attempt} ${idempotencyKey}\n`)
        return index
      })
    return `${name} done`
  })
  await using runtime = await createRuntime({
    store: `sqlite:${database}`,
    thread: false,
    tasks: [work],
    logger: false,
  })
  const { tasks } = await runtime.list()
  const results = await Promise.all(tasks.map((task) => runtime.result(task.taskId)))
  return results.map(String).toSorted()
}

describe('execution: resume after a crash', () => {
  test.each(draws([19], [1, 40], [1, 19, 40]))(
    'A05 F09 killed once %i steps are recorded: the next process finishes, and no recorded step runs twice',
    async (steps) => {
      const path = folder()
      const files = [join(path, 'store.db'), join(path, 'ledger')] as const
      const first = run(workerProgram, ...files, '--submit', '5', '--die-after', String(steps))
      expect(await first.ended).toMatchObject({ signal: 'SIGKILL' })
      const recorded = new Set<string>()
      {
        await using runtime = await look(files[0])
        for (const { input, steps: count } of (await runtime.list()).tasks) {
          for (let index = 0; index < count; index += 1)
            recorded.add(`${(input as { name: string }).name} ${index}`)
        }
      }
      const results = await goOn(...files)
      expect(results).toEqual(Array.from({ length: 5 }, (_, index) => `t${index} done`))
      const runs = runsIn(files[1])
      expect(runs.size).toBe(50)
      const repeated = [...runs].filter(([step, { count }]) => count > (recorded.has(step) ? 1 : 2))
      expect(repeated).toEqual([])
      expect([...runs].filter(([, { keys }]) => keys.size !== 1)).toEqual([])
      expect(recorded.size).toBeGreaterThanOrEqual(steps)
    },
  )
})
