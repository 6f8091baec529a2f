import type { Claim, Lane } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

/** Tasks that may be what ends their processes are kept apart from each other. Source: `docs/semantics.md 3.9`. */
export function suspects({ timed, expect }: Suite): void {
  /** The claims that nobody has looked at yet. */
  async function claims(scene: Scene): Promise<readonly Claim[]> {
    const found: Claim[] = []
    while (await scene.hasClaim()) found.push(await scene.claim())
    return found
  }

  /** So many tasks of a type, all lost so many times, and all due again; no slot is free. */
  async function lost(scene: Scene, count: number, times: number, lane: Lane = 'normal'): Promise<void> {
    await scene.worker('w', 4, ['*'], 0)
    await scene.accepted({ type: 'lost', lane })
    await scene.submitMany(count - 1, { type: 'lost' })
    for (let n = 0; n < times; n++) {
      scene.free('w', count)
      expect(await claims(scene)).toHaveLength(count)
      await scene.jump(30_000)
    }
  }

  timed('3.9 one crash of all keeps nobody apart', async (scene) => {
    await lost(scene, 3, 1)
    scene.free('w', 3)
    expect((await claims(scene)).map(({ sequence, crashes }) => [sequence, crashes])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
    ])
  })

  timed(
    '3.9 one of the tasks that lost three leases to crashes runs at a time, in their order',
    async (scene) => {
      await lost(scene, 3, 3)
      scene.free('w', 3)
      for (const sequence of [1, 2, 3]) {
        const [claim, ...more] = await claims(scene)
        expect([claim?.sequence, more]).toEqual([sequence, []])
        expect(await scene.settle(claim)).toBe('ok')
      }
      expect(await scene.stats()).toMatchObject({ running: 0, totals: { completed: 3, expired: 9 } })
    },
  )

  timed(
    '3.9 others run beside a suspect, but not those that are queued behind one in its stream',
    async (scene) => {
      await lost(scene, 2, 3)
      await scene.accepted({ type: 'other' })
      await scene.accepted({ type: 'lost' })
      scene.free('w', 2)
      const [first, other] = await claims(scene)
      expect([first?.sequence, other?.type]).toEqual([1, 'other'])
      scene.free('w', 2)
      expect(await scene.hasClaim()).toBe(false)
      await scene.settle(first)
      expect((await claims(scene)).map(({ sequence }) => sequence)).toEqual([2, 4])
    },
  )

  timed('3.9 a suspect waits for the end of the other, however it ends', async (scene) => {
    await lost(scene, 2, 3)
    scene.free('w', 2)
    const ends = [
      (claim: Claim) => scene.settle(claim, { as: 'retry', error: '{}', delayMs: 1_000 }),
      (claim: Claim) => scene.cancel(claim.taskId),
    ]
    for (const [n, end] of ends.entries()) {
      const [claim, ...more] = await claims(scene)
      expect([claim?.sequence, more]).toEqual([n + 1, []])
      await end(claim as Claim)
    }
    expect(await claims(scene)).toEqual([])
    await scene.pass(1_000)
    scene.free('w')
    expect((await claims(scene)).map(({ sequence, crashes }) => [sequence, crashes])).toEqual([[1, 3]])
  })

  timed('3.9 a task that ruins whatever it runs in is poisoned alone', async (scene) => {
    await lost(scene, 4, 3)
    const [ruin, lives] = [3, 6]
    // Whoever runs beside the third loses its lease with it.
    for (let life = 0; life < lives; life++) {
      scene.free('w', 4)
      let running = await claims(scene)
      while (running.length > 0 && running.every(({ sequence }) => sequence !== ruin)) {
        for (const claim of running) await scene.settle(claim)
        scene.free('w', running.length)
        running = await claims(scene)
      }
      await scene.jump(30_000)
    }
    const { tasks } = await scene.read({ kind: 'tasks', filter: {} })
    const inOrder = tasks.toSorted((a, b) => a.sequence - b.sequence)
    expect(inOrder.map(({ state, crashes }) => [state, crashes])).toEqual([
      ['completed', 3],
      ['completed', 3],
      ['failed', 5],
      ['completed', 3],
    ])
  })

  timed(
    '3.9 the first of two leases that a task may lose makes a suspect; where the first fails it, none is kept apart',
    async (scene) => {
      await lost(scene, 2, 1)
      scene.free('w', 2)
      expect(await claims(scene)).toHaveLength(1)
    },
    { config: { maxCrashes: 2 } },
  )

  timed(
    '3.9 with much patience it takes half of it to make a suspect',
    async (scene) => {
      await lost(scene, 2, 6)
      scene.free('w', 2)
      expect(await claims(scene)).toHaveLength(1)
    },
    { config: { maxCrashes: 11 } },
  )

  timed(
    '3.9 an interactive suspect that waits for another asks nobody to yield',
    async (scene) => {
      await lost(scene, 2, 3, 'interactive')
      scene.free('w', 2)
      const [first] = await claims(scene)
      await scene.settle(first, { as: 'retry', error: '{}', delayMs: 100 })
      await scene.accepted({ type: 'other', lane: 'batch' })
      scene.free('w')
      expect((await claims(scene)).map(({ sequence }) => sequence)).toEqual([2, 3])
      await scene.pass(500)
      expect(await scene.read({ kind: 'explain', taskId: first?.taskId ?? '' })).toMatchObject({
        waitsFor: 'suspect',
      })
      expect(scene.notices.filter(({ verdict }) => verdict === 'yield')).toEqual([])
      // Anybody else who waits for a slot still does.
      await scene.accepted({ type: 'urgent', lane: 'interactive' })
      await scene.pass(500)
      expect(scene.notices.filter(({ verdict }) => verdict === 'yield')).toHaveLength(1)
    },
    { config: { preemption: true } },
  )

  timed(
    '3.9 a suspect that waits for another says so, and so does what is queued behind it',
    async (scene) => {
      await lost(scene, 2, 3)
      const behind = await scene.accepted({ type: 'lost' })
      const other = await scene.accepted({ type: 'other' })
      const explain = (taskId: string) => scene.read({ kind: 'explain', taskId })
      const { tasks } = await scene.read({ kind: 'tasks', filter: {} })
      const second = tasks.find(({ sequence }) => sequence === 2)?.taskId ?? ''
      expect(await explain(second)).toMatchObject({ waitsFor: 'slot', ahead: 1 })
      scene.free('w', 1)
      const [first] = await claims(scene)
      expect(first?.sequence).toBe(1)
      const waits = {
        waitsFor: 'suspect',
        start: { startsInMs: null, restsOn: { as: 'nothing', because: 'other_tasks' } },
      }
      expect(await explain(second)).toMatchObject({ ...waits, ahead: 0 })
      expect(await explain(behind)).toMatchObject({ ...waits, ahead: 1 })
      expect(await explain(other)).toMatchObject({ waitsFor: 'slot', ahead: 2, place: { heldUp: 2 } })
      await scene.settle(first)
      expect(await explain(second)).toMatchObject({ waitsFor: 'slot' })
    },
  )
}
