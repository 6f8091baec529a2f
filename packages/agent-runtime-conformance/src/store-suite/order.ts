import type { Lane } from '@ku0/agent-runtime-core'
import { SeededRandom } from '@ku0/agent-runtime-core/testing'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function order({ rule, timed, expect }: Suite): void {
  /** Runs everything on one slot, and says the sequences in the order of their starts. */
  async function drain(scene: Scene, workerId: string): Promise<number[]> {
    const started: number[] = []
    while (await scene.hasClaim()) {
      const claim = await scene.claim()
      started.push(claim.sequence)
      await scene.settle(claim)
      scene.free(workerId)
    }
    return started
  }
  const submitAll = async (scene: Scene, lanes: readonly Lane[]) => {
    for (const [n, lane] of lanes.entries()) await scene.accepted({ lane, type: `type-${n % 3}` })
  }

  rule('3.10 no task of a paused type or lane is started, and what runs goes on', async (scene) => {
    const pause = (paused: boolean, types: readonly string[], lanes: readonly Lane[] = []) =>
      scene.write({ kind: 'pauseQueue', types, lanes, paused })
    await scene.worker('w', 4)
    await scene.accepted({ type: 'mail' })
    const claim = await scene.claim()
    expect(await pause(true, ['mail'], ['batch'])).toBe(2)
    expect(await pause(true, ['mail'])).toBe(0)
    const mail = await scene.accepted({ type: 'mail' })
    const batch = await scene.accepted({ type: 'report', lane: 'batch' })
    expect(await scene.hasClaim()).toBe(false)
    expect(await scene.settle(claim)).toBe('ok')
    expect(await scene.hasClaim()).toBe(false)
    expect(await scene.read({ kind: 'explain', taskId: mail })).toMatchObject({
      waitsFor: 'paused',
      start: { startsInMs: null, restsOn: { as: 'nothing', because: 'paused' } },
    })
    const { paused, quotas } = await scene.stats()
    expect(paused).toMatchObject([{ lane: 'batch' }, { type: 'mail' }])
    expect(quotas).toEqual([])
    // A task behind them is passed on, in its own lane, too.
    const report = await scene.accepted({ type: 'report' })
    expect(await scene.claim()).toMatchObject({ taskId: report })
    expect(await pause(false, ['mail', 'other'])).toBe(1)
    expect(await scene.claim()).toMatchObject({ taskId: mail })
    expect(await pause(false, [], ['batch'])).toBe(1)
    expect((await scene.stats()).paused).toEqual([])
    expect(await scene.claim()).toMatchObject({ taskId: batch })
  })

  rule('3.3 one slot, busy; batch, normal, interactive submitted: interactive runs first', async (scene) => {
    await scene.worker('w', 1)
    await scene.accepted({ input: '"busy"' })
    const busy = await scene.claim()
    for (const lane of ['batch', 'normal', 'interactive'] as const) await scene.accepted({ lane })
    await scene.settle(busy)
    scene.free('w')
    const lanes: Lane[] = []
    while (await scene.hasClaim()) {
      const claim = await scene.claim()
      lanes.push(claim.lane)
      await scene.settle(claim)
      scene.free('w')
    }
    expect(lanes).toEqual(['interactive', 'normal', 'batch'])
  })

  rule('3.3 lanes are strict and first in, first out inside, whatever the types', async (scene) => {
    await submitAll(scene, [
      'batch',
      'normal',
      'normal',
      'interactive',
      'batch',
      'normal',
      'interactive',
      'normal',
    ])
    await scene.worker('w', 1)
    expect(await drain(scene, 'w')).toEqual([4, 7, 2, 3, 6, 8, 1, 5])
  })

  rule('3.3 an interactive task that comes later still goes first', async (scene) => {
    await scene.submitMany(3)
    await scene.worker('w', 1)
    await scene.settle(await scene.claim())
    await scene.accepted({ lane: 'interactive' })
    scene.free('w')
    expect(await drain(scene, 'w')).toEqual([4, 2, 3])
  })

  rule('3.3 several slots are given out in the same order', async (scene) => {
    await submitAll(scene, ['batch', 'normal', 'interactive', 'normal', 'batch', 'interactive'])
    await scene.worker('w', 4)
    expect(scene.claims.map(({ sequence }) => sequence)).toEqual([3, 6, 2, 4])
  })

  rule(
    '3.3 hundreds of tasks of one kind start in the order of their submission',
    async (scene) => {
      await scene.submitMany(550)
      await scene.worker('w', 6)
      const started: number[] = []
      while (started.length < 550) {
        const claim = await scene.claim()
        started.push(claim.sequence)
        await scene.settle(claim)
        scene.free('w')
      }
      expect(started).toEqual(Array.from({ length: 550 }, (_, n) => n + 1))
    },
    { config: { maxInFlightPerWorker: 6 } },
  )

  rule(
    'F03 3.3 a flood of interactive tasks leaves the batch task waiting, first of its own lane',
    async (scene) => {
      const [first] = await scene.submitMany(2, { lane: 'batch' })
      await scene.submitMany(550, { lane: 'interactive' })
      await scene.worker('w', 1)
      const started = await drain(scene, 'w')
      expect(started.slice(0, 550)).toEqual(Array.from({ length: 550 }, (_, n) => n + 3))
      expect(started.slice(550)).toEqual([first?.sequence, 2])
    },
  )

  for (const slots of [3, 100, 301])
    rule(
      `3.3 ${slots} slots freed at once are all filled, in order, however long the queue`,
      async (scene) => {
        await scene.submitMany(650)
        await scene.worker('w', slots)
        let seen = 0
        for (; seen < 650;) {
          const wave = scene.claims.slice(seen)
          expect(wave.map(({ sequence }) => sequence)).toEqual(
            Array.from({ length: Math.min(slots, 650 - seen) }, (_, n) => seen + n + 1),
          )
          seen += wave.length
          const { commits } = await scene.stats()
          const settled = wave.map((claim) => scene.settle(claim))
          scene.free('w', wave.length)
          expect(new Set(await Promise.all(settled))).toEqual(new Set(['ok']))
          await scene.idle()
          if (scene.time === 'virtual') expect((await scene.stats()).commits).toBe(commits + 1)
        }
      },
      { config: { maxInFlightPerWorker: 301 } },
    )

  timed(
    '3.3 a long queue out of which tasks are canceled, and into which others come back, keeps its order',
    async (scene) => {
      const random = new SeededRandom('holes')
      const receipts = await scene.submitMany(800)
      await scene.worker('w', 40)
      /** The tasks that are to start, as a plain list. */
      const waiting = new Set(receipts.map(({ sequence }) => sequence))
      const startAll = () => [...waiting].toSorted((a, b) => a - b)
      let seen = 0
      for (let turn = 0; waiting.size > 0 || scene.claims.length > seen; turn++) {
        const wave = scene.claims.slice(seen)
        seen += wave.length
        expect(wave.map(({ sequence }) => sequence)).toEqual(startAll().slice(0, wave.length))
        for (const { sequence } of wave) waiting.delete(sequence)

        const calls = wave.map((claim) => {
          const chance = random.int(4)
          if (chance > 0 || claim.fencingToken > 2) return scene.settle(claim)
          waiting.add(claim.sequence)
          return scene.release(claim)
        })
        const doomed = startAll().filter(() => random.int(60) === 0)
        const cancels = doomed.map((sequence) => scene.cancel(receipts[sequence - 1]?.taskId ?? ''))
        for (const sequence of doomed) waiting.delete(sequence)
        expect(new Set(await Promise.all(calls))).toEqual(new Set(calls.length > 0 ? ['ok'] : []))
        expect((await Promise.all(cancels)).every(({ canceled }) => canceled)).toBe(true)
        scene.free('w', wave.length)
        await scene.idle()
        if (turn % 3 === 0) await scene.pass(100)
      }
      expect(await scene.depth()).toBe(0)
    },
    { config: { maxInFlightPerWorker: 40, queueDepthLimit: 2_000 } },
  )

  rule('F04 3.4 a head that no worker here runs is skipped in place', async (scene) => {
    await scene.worker('w', 1, ['mail'])
    const other = await scene.accepted({ type: 'index', lane: 'interactive' })
    const mail = await scene.accepted({ type: 'mail' })
    expect(await scene.claim()).toMatchObject({ taskId: mail })
    scene.free('w')
    expect(await scene.hasClaim()).toBe(false)
    await scene.worker('v', 1, ['index'])
    expect(await scene.claim()).toMatchObject({ taskId: other, workerId: 'v' })
  })

  rule('3.5 a requeued task keeps its original place', async (scene) => {
    await scene.submitMany(3)
    await scene.worker('w', 1)
    const first = await scene.claim()
    await scene.release(first)
    scene.free('w')
    expect(await drain(scene, 'w')).toEqual([1, 2, 3])
  })

  rule('3.5 a task that is retried comes before those that were submitted after it', async (scene) => {
    await scene.worker('w', 2)
    await scene.submitMany(2)
    const [one, two] = [await scene.claim(), await scene.claim()]
    await scene.submitMany(2)
    await scene.settle(two, { as: 'retry', error: '{}', delayMs: 0 })
    await scene.settle(one)
    scene.free('w')
    expect(await drain(scene, 'w')).toEqual([2, 3, 4])
  })

  timed('3.5 tasks that lose their leases together come back in their order of submission', async (scene) => {
    await scene.worker('w', 4)
    await scene.submitMany(4)
    expect(scene.claims).toHaveLength(4)
    await scene.submitMany(2)
    await scene.jump(30_000)
    scene.free('w', 4)
    await scene.idle()
    expect(scene.claims.slice(4).map(({ sequence, attempt }) => [sequence, attempt])).toEqual([
      [1, 2],
      [2, 2],
      [3, 2],
      [4, 2],
    ])
  })

  timed('3.7 submissions and completions nudge: nothing waits for the tick', async (scene) => {
    const start = scene.now
    await scene.worker('w', 1)
    await scene.submitMany(3)
    expect(await drain(scene, 'w')).toEqual([1, 2, 3])
    expect(scene.now).toBe(start)
  })

  rule('5 dispatch numbers rise with every start, whoever gets it', async (scene) => {
    await scene.worker('a', 2)
    await scene.worker('b', 2)
    await scene.submitMany(4)
    const dispatches = scene.claims.map(({ dispatch }) => dispatch)
    expect(dispatches).toEqual([1, 2, 3, 4])
    await scene.settle(scene.claims[0], { as: 'retry', error: '{}', delayMs: 0 })
    scene.free('a')
    await scene.until(() => scene.claims.length === 5, 'the retry')
    expect(scene.claims[4]).toMatchObject({ sequence: 1, dispatch: 5, fencingToken: 2 })
  })
}
