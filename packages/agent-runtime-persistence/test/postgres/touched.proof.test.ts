import type { ExecutionStore, WriteKind } from '@ku0/agent-runtime-core'
import { Scene } from '@ku0/agent-runtime-conformance'
import { expect, test } from 'vitest'
import type { Kept } from '../../src/engine/database.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, partsOf, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { deeds } from '../helpers/writes-of-every-kind.ts'

/** A scene on one process, and another process on the same database. */
async function play(act: (scene: Scene, other: ExecutionStore) => Promise<void>): Promise<void> {
  const url = (await sharedServer()).newStore()
  let open: (() => Promise<ExecutionStore>) | undefined
  let second: ExecutionStore | undefined
  // No time passes while the other process commits: leases and presence would run out under it on a busy machine.
  const bothQuiet = async (first: ExecutionStore) => {
    const waited = await quiet(first)
    return (second !== undefined && (await quiet(second))) || waited
  }
  await Scene.play(
    ({ config, environment }) => {
      open = () => newPostgresStore(config, environment, url)
      return newPostgresStore(config, environment, url)
    },
    { digest: nodeDigest, quiet: bothQuiet, config: { maxInFlightPerWorker: 100 } },
    async (scene) => {
      const other = await open?.()
      if (other === undefined) throw new Error('the scene opened no store')
      second = other
      try {
        await act(scene, other)
      } finally {
        second = undefined
        await other.close()
      }
    },
  )
}

/** What the database hands over from now on, each time that another process has written. */
function watchKeep(store: ExecutionStore): Kept[] {
  const { db } = partsOf(store)
  const keep = db.keep.bind(db)
  const seen: Kept[] = []
  db.keep = async (wanted) => {
    const kept = await keep(wanted)
    seen.push(kept)
    return kept
  }
  return seen
}

/** What a process keeps of running tasks and of those that are next, and what is stored of them. */
async function keptAndStored(store: ExecutionStore): Promise<readonly [kept: unknown, stored: unknown]> {
  const { cache, db } = partsOf(store)
  const heads = [...cache.heads].map(([stream, { rows, complete }]) => ({ stream, rows, complete }))
  expect(await db.begin({ isAwaited: false, hasMuch: true, hasTime: false })).toBe(true)
  const all = await db.keep({ since: undefined, shares: false, held: new Map() })
  const loaded = await db.load({
    memos: [...cache.memos.keys()],
    heads: heads.map(({ stream, rows }) => ({ stream, after: 0, limit: rows.length + 1 })),
  })
  await db.rollback()
  const byId = <R extends { readonly id: number }>(rows: Iterable<R>) =>
    [...rows].toSorted((a, b) => a.id - b.id)
  return [
    {
      leases: byId(cache.running.values()),
      tasks: byId([...cache.running.values()].flatMap(({ task }) => cache.tasks.get(task) ?? [])),
      memos: [...cache.memos],
      heads,
    },
    {
      leases: byId(all.leases),
      tasks: byId(all.tasks),
      memos: loaded.memos,
      heads: (loaded.heads ?? []).map(({ stream, rows, limit }, at) => ({
        stream,
        rows: heads[at]?.complete === false ? rows.slice(0, limit - 1) : rows,
        complete: heads[at]?.complete,
      })),
    },
  ]
}

async function runningTasks(scene: Scene, count: number): Promise<void> {
  await scene.worker('w', count)
  for (let n = 0; n < count; n += 1) await scene.submit()
  await scene.idle()
  expect(scene.claims).toHaveLength(count)
}

const one = { kind: 'submit', tasks: [{ type: 'other', lane: 'normal', input: 'null' }] } as const

test('a process reads again only those of its tasks that another process has touched', async () => {
  await play(async (scene, other) => {
    await runningTasks(scene, 20)
    const seen = watchKeep(scene.store)
    await scene.settled(other.write(one))
    // It looks before it decides: what is decided on an old state comes to nothing, and everything is read again.
    await scene.pass(500)
    await scene.submit()
    const touched = scene.claims[7]?.taskId ?? ''
    await scene.settled(other.write({ kind: 'signal', taskId: touched, name: 'news', value: '1' }))
    await scene.pass(500)
    await scene.submit()
    expect(seen.map(({ leases, tasks }) => [leases.length, tasks.length])).toEqual([
      [0, 0],
      [1, 1],
    ])
    const { db } = partsOf(scene.store)
    expect(seen[1]?.tasks.map(({ id, explicitId }) => explicitId ?? db.ids.task(id))).toEqual([touched])
    const [kept, stored] = await keptAndStored(scene.store)
    expect(kept).toEqual(stored)
    for (const claim of scene.claims) await scene.settle(claim)
    expect((await scene.stats()).totals.completed).toBe(20)
  })
})

test('a task that another process moves to another stream while it runs, without an event, is read again', async () => {
  await play(async (scene, other) => {
    await scene.worker('w', 20)
    const settlement = { as: 'completed', output: 'null' } as const
    // Now and then a process has read everything anew for another reason: then nothing shows in that round.
    for (const model of ['big', 'small', 'quick', 'new']) {
      const begun = scene.claims.length
      for (let n = 0; n < 2; n += 1) await scene.submit({ model })
      await scene.idle()
      expect(scene.claims).toHaveLength(begun + 2)
      const leaseId = scene.claims[begun]?.leaseId ?? ''
      const backOff = { keys: [`model:${model}`], retryAfterMs: 5_000 }
      await scene.settled(other.write({ kind: 'settle', leaseId, settlement, backOff }))
      await scene.submit()
      await scene.idle()
      const [kept, stored] = await keptAndStored(scene.store)
      expect(kept).toEqual(stored)
    }
  })
})

test.each(Object.keys(deeds) as WriteKind[])(
  'after another process made the call %s, a process keeps what is stored',
  async (kind) => {
    await play(async (scene, other) => {
      const { write } = await deeds[kind](scene)
      await scene.settled(other.write(write))
      await scene.submit({ type: 'more' })
      const [kept, stored] = await keptAndStored(scene.store)
      expect(kept).toEqual(stored)
    })
  },
)
