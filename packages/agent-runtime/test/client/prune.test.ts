import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { openStore } from '@ku0/agent-runtime-persistence'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { pruneStore } from '../../src/client/prune.ts'
import { defineTask } from '../../src/index.ts'
import { nextSize } from '../../src/retention/prune-pass.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

const input = z.any()
const day = 1_000
const work = defineTask({ type: 'work', input }, () => 'done')
const broken = defineTask({ type: 'broken', input, retry: { attempts: 1 } }, () => {
  throw new Error('broken')
})
const family = defineTask({ type: 'family', input }, async (ctx) => {
  const child = await ctx.spawn('child', work, null)
  return child.result()
})

const late = defineTask({ type: 'late', input }, async (ctx) => {
  await ctx.sleep('first', 1)
  const child = await ctx.spawn('child', work, null)
  return child.result()
})

const open = (retention?: object) =>
  createTestRuntime({
    tasks: [work, broken, family, late],
    config: retention === undefined ? {} : { retention },
  })

describe('retention (docs/semantics.md 6.6)', () => {
  test('6.6 a runtime deletes what its rules no longer keep, by itself', async () => {
    await using it = await open({ completed: { ageMs: 7 * day }, everyMs: 500 })
    const { runtime } = it
    const old = await runtime.submit(work, null)
    await runtime.result(old)
    const failed = await runtime.submit(broken, null)
    await expect(runtime.result(failed)).rejects.toThrow('broken')
    await it.advance(3 * day)
    const young = await runtime.submit(work, null)
    await runtime.result(young)
    expect((await runtime.status(old))?.state).toBe('completed')
    await it.advance(4 * day + 500)
    expect(await runtime.status(old)).toBeUndefined()
    expect((await runtime.status(young))?.state).toBe('completed')
    expect((await runtime.status(failed))?.state).toBe('failed')
    await expect(runtime.result(old)).rejects.toThrow('or it was pruned')
  })

  test('6.6 prune says what it deleted, by state; a dry run only counts', async () => {
    await using it = await open({ completed: { ageMs: day }, everyMs: 86_400_000 })
    const { runtime } = it
    const parent = await runtime.submit(family, null)
    await it.until(parent, 'completed')
    await runtime.result(await runtime.submit(work, null))
    await it.advance(2 * day)
    await runtime.result(await runtime.submit(work, null))
    expect(await runtime.prune({ dryRun: true })).toEqual({
      completed: 3,
      failed: 0,
      canceled: 0,
      folded: 0,
      dryRun: true,
    })
    expect((await runtime.status(parent))?.state).toBe('completed')
    // The child goes with its parent.
    expect(await runtime.prune()).toEqual({
      completed: 3,
      failed: 0,
      canceled: 0,
      folded: 0,
      dryRun: false,
    })
    expect((await runtime.list()).tasks).toHaveLength(1)
    expect(await runtime.prune()).toMatchObject({ completed: 0 })
  })

  test('6.6 a dry run counts up to 200 tasks at a time, on a slow machine too: a child counts with its parent', async () => {
    await using it = await open({ completed: { ageMs: day }, everyMs: 86_400_000 })
    const { runtime } = it
    const parent = await runtime.submit(late, null)
    for (let n = 0; n < 60; n += 1) await runtime.submit(work, null)
    await it.advance(1)
    await it.until(parent, 'completed')
    await it.advance(2 * day)
    await it.result(await runtime.submit(work, null))
    expect(await runtime.prune({ dryRun: true })).toMatchObject({ completed: 62 })
    expect(await runtime.prune()).toMatchObject({ completed: 62 })
  })

  test('6.6 prune counts the newest once, however many passes it makes', async () => {
    const { config } = parseExecutionConfig({ retention: { canceled: { count: 1 } } })
    const { clock } = createVirtualEnvironment('prune')
    const store = await openStore('sqlite::memory:', { config, thread: false })
    const tasks = Array.from({ length: 4 }, () => ({ type: 'work', lane: 'normal', input: 'null' }) as const)
    for (const receipt of await store.write({ kind: 'submit', tasks }))
      await store.write({ kind: 'cancel', taskId: receipt.accepted ? receipt.taskId : '' })
    const kinds: string[] = []
    const read = store.read.bind(store)
    store.read = (query) => {
      kinds.push(query.kind)
      return read(query)
    }
    expect(await pruneStore({ store, retention: config.retention, clock })).toMatchObject({ canceled: 3 })
    expect(kinds).toEqual(['newestKept', 'prunable', 'prunable'])
    await store.close()
  })

  test('6.6 without rules prune refuses, and says what to set', async () => {
    await using it = await open()
    await expect(it.runtime.prune()).rejects.toThrow('set config.retention')
    await expect(it.runtime.prune({ dryRun: 'yes' as never })).rejects.toThrow('dryRun')
  })

  test('6.6 a signal ends it between two commits', async () => {
    await using it = await open({})
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(it.runtime.prune({ signal })).rejects.toThrow('enough')
  })

  test('11.8 entries of ledgers are folded once they are old: by prune, and by a runtime itself', async () => {
    await using it = await createTestRuntime({
      tasks: [work],
      config: {
        shares: { ledger: true, startCredits: 0 },
        retention: { completed: 'forever', ledger: { ageMs: day }, keysMs: day, everyMs: 10 * day },
      },
    })
    const { runtime } = it
    for (const amount of [5, 6, 7]) await runtime.credits.purchase('ada', amount, { key: `order ${amount}` })
    await runtime.result(await runtime.submit(work, null, { client: 'ada', cost: 2 }))
    expect(await runtime.prune()).toMatchObject({ folded: 0 })
    await it.advance(day)
    await runtime.credits.purchase('ada', 1)
    expect(await runtime.prune({ dryRun: true })).toMatchObject({ folded: 5, dryRun: true })
    expect(await runtime.credits.entries('ada')).toHaveLength(6)
    expect(await runtime.prune()).toMatchObject({ completed: 0, folded: 5 })
    expect(
      (await runtime.credits.entries('ada')).map(({ seq, kind, amount }) => [seq, kind, amount]),
    ).toEqual([
      [5, 'opening', 16],
      [6, 'purchase', 1],
    ])
    expect(await runtime.credits.balance('ada')).toMatchObject({ credits: 17, reserved: 0, spent: 2 })
    await it.advance(10 * day)
    expect((await runtime.credits.entries('ada')).map(({ seq, kind }) => [seq, kind])).toEqual([
      [6, 'opening'],
    ])
  })
})

test.each([
  ['short', 50, 9, 100],
  ['short, and has as many as there may be', 200, 0, 200],
  ['neither short nor long', 100, 20, 100],
  ['long', 200, 21, 100],
  ['long, and has as few as there may be', 50, 500, 50],
])('6.6 after a commit that is %s the next deletes as many as fits', (_, size, tookMs, next) => {
  expect(nextSize(size, tookMs)).toBe(next)
})
