import { join } from 'node:path'
import type { Claim, Write } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { cleanBesideTheDead as clean, OwnStore } from '../helpers/own-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const keyed: Write<'submit'> = {
  kind: 'submit',
  tasks: ['a', 'b'].map((key) => ({ type: 'work', lane: 'normal', input: '1', idempotencyKey: key })),
}

const config = { maxInFlightPerWorker: 10 }

/** Some of everything, for one flush, by who holds three of five tasks and has recorded a step of the first. */
function flushOf([first, second, third]: readonly string[], tasks: readonly string[]): readonly Write[] {
  const [, , , fourth = '', fifth = ''] = tasks
  const nap = { key: 'nap', position: 0, kind: 'timer', delayMs: 60_000 } as const
  return [
    { kind: 'recordStep', leaseId: first ?? '', key: 'two', position: 1, durationMs: 1, result: '"two"' },
    { kind: 'checkpoint', leaseId: first ?? '', data: '"far"' },
    { kind: 'appendOutput', leaseId: first ?? '', chunks: ['1', '2'] },
    { kind: 'settle', leaseId: second ?? '', settlement: { as: 'completed', output: '"done"' } },
    { kind: 'suspend', leaseId: third ?? '', waits: [nap], stay: false },
    { kind: 'cancel', taskId: fourth, reason: 'enough' },
    { kind: 'signal', taskId: fifth, name: 'note', value: '1' },
    keyed,
  ]
}

/** A process that is told to do all of that, and dies before its nth statement; where it lives on, so many it had run. */
async function lives(diesBefore: number) {
  const path = join(scratchFolder(), 'it.db')
  const own = await OwnStore.open(path, config)
  const tasks = await own.submit(5)
  const child = await ChildStore.open({ path, worker: { workerId: 'c', capacity: 3 }, diesBefore })
  await child.heard(({ claimed }) => claimed !== undefined, 3)
  const leases = tasks.map((id) => child.claims.find(({ taskId }) => taskId === id)?.leaseId ?? '')
  // In a flush of its own, and acknowledged.
  const one = { kind: 'recordStep', key: 'one', position: 0, durationMs: 1, result: '"one"' } as const
  child.send({ ...one, leaseId: leases[0] ?? '' })
  await child.heard(({ answer }) => answer !== undefined)
  return { path, own, tasks, child, leases }
}

test('A18 a process that is killed before any statement of a flush leaves all of it or nothing, and everything acknowledged before', async () => {
  const whole = await lives(0)
  whole.child.send(...flushOf(whole.leases, whole.tasks))
  const { statements = 0 } = await whole.child.heard((line) => line.statements !== undefined)
  await whole.child.heard(({ answer }) => answer !== undefined, 9)
  expect(await whole.child.end()).toBe(0)
  expect(statements).toBeGreaterThan(15)

  const nth = draws(6, 6, 1)
  const places = Array.from({ length: statements + 2 }, (_, n) => n + 1)
  // The last of them is behind the commit.
  const kills = everyNth(places, nth, places.length - 1).values()
  const ends = { nothing: 0, all: 0 }
  const work = async () => {
    for (const n of kills) ends[await killedBefore(n)] += 1
  }
  await Promise.all(Array.from({ length: 3 }, work))
  // Upkeep that is due in one run and not in another moves the commit by a statement or two.
  expect(ends.nothing).toBeGreaterThan(15 / nth)
  expect(ends.all).toBeGreaterThan(0)
}, 240_000)

/** What there is of the flush when its process was killed before its nth statement, and that all goes on from there. */
async function killedBefore(n: number): Promise<'nothing' | 'all'> {
  const { path, own, tasks, child, leases } = await lives(n)
  child.send(...flushOf(leases, tasks))
  await child.died()
  const hasCommitted = child.lines.some((line) => line.statements !== undefined)
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = tasks
  const stateOf = async (taskId: string) => (await own.store.read({ kind: 'task', taskId }))?.state
  await own.worker('w', 10)
  // The dead process's tasks come to this one; a queued one was there all the time.
  const there = (await stateOf(second)) === 'completed'
  expect([n, there]).toEqual([n, hasCommitted])
  await own.until(() => own.claims.length === (there ? 4 : 5), 'what is left to do')
  const byId = new Map(own.claims.map((claim) => [claim.taskId, claim]))
  const { steps } = await own.store.read({ kind: 'memos', taskId: first })
  const output = await own.store.read({ kind: 'output', taskId: first, after: 0, limit: 10 })
  const events = (await own.store.read({ kind: 'events', taskId: fifth, after: 0, limit: 10 })) ?? []
  const found = {
    memos: steps.map(({ key }) => key),
    checkpoint: byId.get(first)?.checkpoint,
    output: output?.length,
    second: await stateOf(second),
    third: await stateOf(third),
    fourth: await stateOf(fourth),
    signals: events.filter(({ type }) => type === 'signal.received').length,
    keyed: own.claims.filter(({ taskId }) => !tasks.includes(taskId)).length,
  }
  const nothing = { memos: ['one'], checkpoint: undefined, output: 0, second: 'running', third: 'running' }
  expect(found).toEqual(
    there
      ? {
          memos: ['one', 'two'],
          checkpoint: '"far"',
          output: 2,
          second: 'completed',
          third: 'waiting',
          fourth: 'canceled',
          signals: 1,
          keyed: 2,
        }
      : { ...nothing, fourth: 'running', signals: 0, keyed: 0 },
  )
  const again = await own.store.write(keyed)
  expect(again.map((it) => it.accepted && it.deduplicated)).toEqual([there, there])
  await own.until(() => own.claims.length === (there ? 4 : 7), 'what was submitted again')
  for (const claim of own.claims as readonly Claim[]) expect(await own.complete(claim)).toBe('ok')
  await clean(own, path, config)
  return there ? 'all' : 'nothing'
}
