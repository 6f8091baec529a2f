import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { virtualEnvironment, virtualRuntime } from '../virtual-runtime.ts'

/** Saves a checkpoint after each of its first two steps, does two more, and waits for a signal before the last one. */
function walk(ran: string[], found: unknown[]) {
  return defineTask({ type: 'walk', input: z.null() }, async (ctx) => {
    const { restored } = ctx
    found.push(restored)
    const sums: number[] = []
    for (let n = (restored as { next: number } | undefined)?.next ?? 0; n < 5; n += 1) {
      if (n === 4) await ctx.waitForSignal('go')
      sums.push(await ctx.step(`item ${n}`, () => ran.push(`item ${n}`)))
      if (n < 2) await ctx.checkpoint({ next: n + 1 })
    }
    return sums.at(-1)
  })
}

describe('a checkpoint is a cache (docs/reliability.md H10)', () => {
  test.each<readonly [what: string, edit: string, found: unknown]>([
    ['as it was, with steps recorded after it', 'SELECT 1', { next: 2 }],
    ['an older one', `UPDATE checkpoint SET seq = 4, data = '{"next":1}'`, { next: 1 }],
    ['taken out', 'DELETE FROM checkpoint', undefined],
    ['garbage', `UPDATE checkpoint SET data = '{"ne'`, undefined],
    ['another value', `UPDATE checkpoint SET data = '{"next":4}'`, undefined],
    ['under the number of another event', 'UPDATE checkpoint SET seq = 5', undefined],
  ])('H10 %s: the task ends the same, and no recorded step runs again', async (_, edit, expected) => {
    const ran: string[] = []
    const found: unknown[] = []
    const database = join(folder(), 'store.db')
    const environment = virtualEnvironment()
    const task = walk(ran, found)
    const before = await virtualRuntime({ database, environment, tasks: [task] })
    const { taskId } = await before.runtime.submit(task, null)
    await before.elapse(10)
    expect(await before.runtime.status(taskId)).toMatchObject({ state: 'waiting', steps: 4 })
    const stopped = before.runtime.stop()
    await before.elapse(10)
    await stopped
    await before.store.close()

    const db = new DatabaseSync(database)
    expect(db.prepare('SELECT data FROM checkpoint').all()).toEqual([{ data: '{"next":2}' }])
    db.exec(edit)
    db.close()
    const after = await virtualRuntime({ database, environment, tasks: [task] })
    expect((await after.runtime.checkpoint(taskId))?.data).toEqual(expected)
    await after.runtime.signal(taskId, 'go')
    await after.elapse(10)
    expect(await after.runtime.status(taskId)).toMatchObject({ state: 'completed', output: 5 })
    expect(ran).toEqual(['item 0', 'item 1', 'item 2', 'item 3', 'item 4'])
    expect(found).toEqual([undefined, expected])
  })
})
