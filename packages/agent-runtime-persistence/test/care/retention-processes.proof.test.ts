import { join } from 'node:path'
import {
  countedGroups,
  dueGroups,
  type ExecutionStore,
  newestOf,
  type OutcomeOf,
  type Write,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { expect, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const input = {
  queueDepthLimit: 10_000,
  batchBackpressureThreshold: 10_000,
  retention: {
    completed: 'forever',
    failed: 'forever',
    canceled: { count: 30 },
    types: { audit: { canceled: 'forever' }, ping: { canceled: { count: 10 } } },
  },
} as const
const { config } = parseExecutionConfig(input)
const rules = config.retention!
const types = ['audit', 'ping', 'work', 'mail']

/** So many tasks of each type that are over. */
async function ended(store: ExecutionStore, each: number): Promise<void> {
  const tasks = Array.from({ length: each }, () =>
    types.map((type) => ({ type, lane: 'normal', input: 'null' }) as const),
  ).flat()
  const receipts = await store.write({ kind: 'submit', tasks })
  const taskIds = receipts.flatMap((receipt) => (receipt.accepted ? [receipt.taskId] : []))
  expect(await store.write({ kind: 'cancelMany', taskIds })).toEqual({ canceled: tasks.length })
}

/** What a pass would delete, a few tasks a commit. */
async function writesOf(store: ExecutionStore): Promise<readonly Write<'prune'>[]> {
  const { groups } = await store.read({ kind: 'newestKept', groups: countedGroups(rules) })
  const newest = newestOf(groups)
  const { tasks } = await store.read({
    kind: 'prunable',
    groups: dueGroups(rules, 0, newest),
    keysUntil: 0,
    after: 0,
  })
  const writes: Write<'prune'>[] = []
  for (let first = 0; first < tasks.length; first += 20)
    writes.push({ kind: 'prune', tasks: tasks.slice(first, first + 20), newest })
  return writes
}

test.each(['sqlite', 'postgres'])(
  '6.6 on %s three processes prune one store, and one is killed: the newest of each group are left, and all is proven',
  async (kind) => {
    const path = kind === 'sqlite' ? join(scratchFolder(), 'it.db') : (await sharedServer()).newStore()
    const url = kind === 'sqlite' ? `sqlite:${path}` : path
    const store = await openStore(url, { config, thread: false })
    await ended(store, 60)
    const counts = async () =>
      Object.fromEntries(
        await Promise.all(
          [['audit'], ['ping'], ['work', 'mail']].map(async (of) => {
            const { count } = await store.read({ kind: 'taskCount', filter: { types: of } })
            return [of.join(' and '), count] as const
          }),
        ),
      )
    const writes = await writesOf(store)
    const children = await Promise.all(
      [0, 1, 2].map(() => ChildStore.open({ path, config: input, insists: true })),
    )
    const [victim, ...others] = children as [ChildStore, ChildStore, ChildStore]
    const prune = async (child: ChildStore) => {
      for (const [at, write] of writes.entries()) {
        child.send(write)
        await child.heard(({ answer }) => answer !== undefined, at + 1)
      }
    }
    // It dies with a commit under way.
    const killed = (async () => {
      victim.send(writes[0]!)
      await victim.heard(({ answer }) => answer !== undefined)
      victim.send(writes[1]!)
      await victim.kill()
    })()
    await Promise.all([killed, ...others.map(prune), ended(store, 2)])
    // Those that ended meanwhile were not counted.
    expect(await counts()).toEqual({ audit: 62, ping: 12, 'work and mail': 34 })
    const answers = children.flatMap((child) => child.answers as OutcomeOf<'prune'>[])
    const { deleted } = await store.read({ kind: 'stats' })
    expect(deleted).toEqual({ completed: 0, failed: 0, canceled: 50 + 90 })
    // The victim may have died between its commit and its answer.
    const told = answers.reduce((sum, { pruned }) => sum + pruned.canceled, 0)
    expect([0, writes[1]!.tasks.length]).toContain(deleted.canceled - told)

    for (const write of await writesOf(store)) await store.write(write)
    expect(await counts()).toEqual({ audit: 62, ping: 10, 'work and mail': 30 })
    expect(await writesOf(store)).toEqual([])
    expect(await Promise.all(others.map((child) => child.end()))).toEqual([0, 0])
    await store.close()
    expect(await verifyStore(url)).toMatchObject({ ok: true, faults: [] })
  },
)
