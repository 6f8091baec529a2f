import { join } from 'node:path'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  checkDeploy,
  createRuntime,
  defineTask,
  type TaskContext,
  type TaskDefinition,
} from '../../src/index.ts'

function scratchStore(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ku0-check-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return `sqlite:${join(folder, 'store.db')}`
}
const flow = (type: string, handler: (ctx: TaskContext) => unknown) =>
  defineTask({ type, input: z.object({ n: z.number() }) }, handler)
const waits = (type: string, first: string) =>
  flow(type, async (ctx) => {
    await ctx.step(first, () => 1)
    return ctx.waitForSignal('go')
  })

/** Leaves so many waiting tasks of each type behind. */
async function leave(
  store: string,
  tasks: readonly TaskDefinition[],
  count: number,
  unstarted = 0,
): Promise<void> {
  const open = { store, config: { maxInFlightPerWorker: 50 }, logger: false, telemetry: false } as const
  {
    await using runtime = await createRuntime({ ...open, tasks })
    const items = tasks.flatMap(({ type }) =>
      Array.from({ length: count }, (_, n) => ({ task: type, input: { n } })),
    )
    await runtime.submitMany(items)
    while ((await runtime.stats()).waiting < items.length)
      await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await using runtime = await createRuntime({ ...open, tasks, workers: 0 })
  for (let n = 0; n < unstarted; n += 1) await runtime.submit(tasks[0]?.type ?? '', { n })
}

describe('checkDeploy (docs/semantics.md 6.4)', () => {
  test('agrees with the code that runs: waiting and queued tasks are all looked at', async () => {
    const store = scratchStore()
    await leave(store, [waits('one', 'a'), waits('two', 'a')], 20, 3)
    expect(await checkDeploy({ store, tasks: [waits('one', 'a'), waits('two', 'a')] })).toEqual({
      ok: true,
      checked: 43,
      agreed: 43,
      counts: { diverged: 0, unknownTypes: 0, invalidInputs: 0, threw: 0, unsettled: 0, edited: 0 },
      diverged: [],
      unknownTypes: {},
      invalidInputs: [],
      threw: [],
      unsettled: [],
      edited: [],
    })
  })

  test('names what a deploy would park, refuse or strand, and changes nothing', async () => {
    const store = scratchStore()
    const types = ['renamed', 'gone', 'throwing', 'stuck', 'narrowed', 'same']
    await leave(
      store,
      types.map((type) => waits(type, 'a')),
      2,
    )
    const strict = z.object({ n: z.number(), unit: z.string() })
    const tasks = [
      waits('renamed', 'b'),
      flow('throwing', () => {
        throw new Error('new code')
      }),
      flow('stuck', () => new Promise(() => {})),
      defineTask({ type: 'narrowed', input: strict }, () => 1),
      waits('same', 'a'),
    ]
    const report = await checkDeploy({ store, tasks, timeoutMs: 50, maxListed: 1 })
    expect(report).toMatchObject({
      ok: false,
      checked: 12,
      agreed: 2,
      counts: { diverged: 2, unknownTypes: 2, invalidInputs: 2, threw: 2, unsettled: 2 },
      diverged: [{ type: 'renamed', divergence: { kind: 'unexpected_step', expected: 'a', actual: 'b' } }],
      unknownTypes: { gone: 2 },
      invalidInputs: [{ type: 'narrowed', message: expect.stringContaining('unit') as string }],
      threw: [{ type: 'throwing', message: 'new code' }],
      unsettled: [{ type: 'stuck' }],
    })
    expect(report.diverged).toHaveLength(1)
    await using runtime = await createRuntime({
      store,
      tasks: [],
      workers: 0,
      logger: false,
      telemetry: false,
    })
    expect(await runtime.stats()).toMatchObject({ waiting: 12, running: 0 })
  })

  test('goes beside the processes that run the tasks', async () => {
    const store = scratchStore()
    const task = waits('one', 'a')
    await using runtime = await createRuntime({ store, tasks: [task], logger: false, telemetry: false })
    const receipt = await runtime.submit(task, { n: 1 })
    const { ok, checked } = await checkDeploy({ store, tasks: [task] })
    expect([ok, checked]).toEqual([true, 1])
    await runtime.signal(receipt, 'go', 'on')
    expect(await runtime.result(receipt)).toBe('on')
  })

  test('refuses a store that is not there, and makes none: a deploy would be checked against nothing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ku0-check-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const store = `sqlite:${join(folder, 'typo.db')}`
    await expect(checkDeploy({ store, tasks: [] })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining(`there is no store at ${join(folder, 'typo.db')}`) as string,
    })
    expect(readdirSync(folder)).toEqual([])
    await expect(checkDeploy({ store: 'sqlite::memory:', tasks: [] })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('a new in-memory store is empty') as string,
    })
  })

  test('refuses what is no option, naming it', async () => {
    const store = scratchStore()
    await leave(store, [], 0)
    const check = (options: object) => checkDeploy({ store, tasks: [], ...options })
    await expect(check({ workers: 3 })).rejects.toMatchObject({
      message: expect.stringContaining('workers') as string,
    })
    await expect(check({ timeoutMs: -1 })).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(check({ store: 'typo://db' })).rejects.toMatchObject({ code: 'invalid_config' })
    await expect(check({ tasks: [1] })).rejects.toMatchObject({ code: 'invalid_config' })
    await expect(checkDeploy(undefined as never)).rejects.toMatchObject({ code: 'invalid_argument' })
  })
})
