import {
  type Claim,
  type LogRange,
  PIPELINE_KEY,
  partsOf,
  publicationKey,
  receiptKey,
  type PipelineTerms,
  STAGE_WAIT_NAME,
  stageKey,
  type StageTerms,
  type StageWait,
  stageWaitKey,
} from '@ku0/agent-runtime-core'
import { type Scene, submission } from './scene.ts'
import type { SceneOptions, Suite } from './suite.ts'

const slots = 20

function stage(name: string, subscribes: readonly string[], publishes: readonly string[]): StageTerms {
  return { stage: name, subscribes, publishes }
}

const chain: PipelineTerms = {
  stages: [stage('a', [], ['x', 'z']), stage('b', ['x'], ['y']), stage('c', ['x', 'y'], [])],
  maxUnread: 3,
}

/** Two tasks receive what one publishes, and publish for another. */
const parted: PipelineTerms = {
  stages: [stage('a', [], ['x']), { ...stage('b', ['x'], ['y']), partitions: 2 }, stage('c', ['y'], [])],
  maxUnread: 3,
}

/** A pipeline that waits for its stages, and the claim of each task of one: `b`, or `b/2` for a partition. */
interface Line {
  readonly taskId: string
  readonly stages: Readonly<Record<string, Claim>>
}

/** The suite's rules, on a worker that has room for all. */
export function pipelines({ rule: anyRule, expect }: Suite): void {
  const rule: Suite['rule'] = (title, body, options = {}) => anyRule(title, body, roomy(options))

  async function started(scene: Scene, terms: PipelineTerms = chain): Promise<Line> {
    await scene.worker('w', slots)
    const taskId = await scene.accepted({ type: 'line' })
    const { leaseId } = await scene.claim()
    const opened = await scene.write({ kind: 'openPipeline', leaseId, key: PIPELINE_KEY, position: 0, terms })
    expect(opened).toEqual({ fenced: 'ok', as: 'open' })
    const stages: Record<string, Claim> = {}
    for (const [position, place] of terms.stages.flatMap(partsOf).entries()) {
      const key = stageKey(place)
      const name = place.partition === undefined ? place.stage : `${place.stage}/${place.partition}`
      const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: name })
      await scene.write({
        kind: 'spawn',
        leaseId,
        key,
        position: position + 1,
        policy: 'cancel',
        submission: task,
      })
      stages[name] = await scene.claim()
    }
    const patience = { key: 'patience', position: 9, kind: 'timer', delayMs: 1e9 } as const
    await scene.write({ kind: 'suspend', leaseId, waits: [patience], stay: false })
    scene.free('w')
    return { taskId, stages }
  }

  const at = (line: Line, name: string): Claim => {
    const claim = line.stages[name]
    if (claim === undefined) throw new Error(`no stage ${name}`)
    return claim
  }
  const publish = (
    scene: Scene,
    { leaseId }: Claim,
    key: string,
    type: string | readonly string[],
    events: readonly string[],
    keyHashes?: readonly (number | null)[],
  ) =>
    scene.write({
      kind: 'publish',
      leaseId,
      key: publicationKey(String(type), key, 0),
      position: 0,
      type,
      events,
      ...(keyHashes === undefined ? {} : { keyHashes }),
    })
  const receive = (scene: Scene, { leaseId }: Claim, key: string, types: readonly string[], max = 100) =>
    scene.write({ kind: 'receive', leaseId, key: keyOf(types, key), position: 0, types, max })
  const received = async (scene: Scene, claim: Claim, types: readonly string[]) => {
    const outcome = await receive(scene, claim, 'r1', types)
    if (outcome.fenced !== 'ok' || outcome.as !== 'received') throw new Error(JSON.stringify(outcome))
    return outcome
  }
  /** The task waits, unless that is over already. */
  const waits = async (scene: Scene, { leaseId }: Claim, wait: StageWait, name = '0') => {
    const key = stageWaitKey(name, wait)
    const asked = { key, position: 1, kind: 'signal', name: STAGE_WAIT_NAME } as const
    const outcome = await scene.write({ kind: 'suspend', leaseId, waits: [asked], stay: false })
    if (outcome.fenced === 'ok' && outcome.suspended) scene.free('w')
    return outcome
  }
  const finish = async (scene: Scene, claim: Claim) => {
    expect(await scene.settle(claim, { as: 'completed', output: 'null' })).toBe('ok')
    scene.free('w')
  }
  const log = async (scene: Scene, { taskId }: Line) =>
    ((await scene.read({ kind: 'output', taskId, after: 0, limit: 100 })) ?? []).map(
      ({ seq, data }) => [seq, JSON.parse(data) as unknown] as const,
    )

  rule('13.1 a pipeline whose stages receive what none before them publishes is refused', async (scene) => {
    await scene.worker('w', slots)
    await scene.accepted({ type: 'line' })
    const { leaseId } = await scene.claim()
    const terms = { stages: [stage('b', ['x'], []), stage('a', [], ['x'])], maxUnread: 3 }
    expect(
      await scene.write({ kind: 'openPipeline', leaseId, key: PIPELINE_KEY, position: 0, terms }),
    ).toEqual({
      fenced: 'ok',
      as: 'invalid',
      violations: [{ rule: 'invalid_subscription', stage: 'b', missing: ['x'] }],
    })
  })

  rule(
    '13.2 events are numbered without gaps in one log, and each stage receives its own in order',
    async (scene) => {
      const line = await started(scene)
      const published = { fenced: 'ok', as: 'published' }
      expect(await publish(scene, at(line, 'a'), 'p1', 'x', ['1', '2'])).toEqual(published)
      expect(await publish(scene, at(line, 'b'), 'p1', 'y', ['3'])).toEqual(published)
      expect(await publish(scene, at(line, 'a'), 'p2', 'x', ['4'])).toEqual({ ...published, full: ['x'] })
      expect(await log(scene, line)).toEqual([
        [1, { data: 1, stage: 'a', type: 'x' }],
        [2, { data: 2, stage: 'a', type: 'x' }],
        [3, { data: 3, stage: 'b', type: 'y' }],
        [4, { data: 4, stage: 'a', type: 'x' }],
      ])
      expect(await receive(scene, at(line, 'c'), 'r1', ['x', 'y'], 3)).toMatchObject({ ranges: [[1, 3]] })
      expect(await receive(scene, at(line, 'c'), 'r2', ['x', 'y'], 3)).toMatchObject({ ranges: [[4, 1]] })
      expect(await receive(scene, at(line, 'c'), 'r3', ['x', 'y'], 3)).toEqual({ fenced: 'ok', as: 'none' })
      expect(await receive(scene, at(line, 'b'), 'r1', ['x'])).toMatchObject({
        ranges: [
          [1, 2],
          [4, 1],
        ],
      })
      expect(await scene.read({ kind: 'pipeline', taskId: at(line, 'b').taskId })).toMatchObject({
        taskId: line.taskId,
        type: 'line',
        stage: 'b',
        seq: 4,
        published: { x: 3, y: 1 },
        stages: [
          { stage: 'a', ended: false, taken: {} },
          { stage: 'b', taken: { x: 3 } },
          { stage: 'c', taken: { x: 3, y: 1 } },
        ],
      })
    },
  )

  rule('13.2 pipelines are listed, newest first, with what each stage has left', async (scene) => {
    const line = await started(scene)
    await publish(scene, at(line, 'a'), 'p1', 'x', ['1', '2', '3'])
    await receive(scene, at(line, 'b'), 'r1', ['x'], 2)
    expect(await scene.read({ kind: 'pipelines', limit: 5 })).toMatchObject({
      pipelines: [
        {
          taskId: line.taskId,
          state: 'waiting',
          stages: [
            { stage: 'a', unread: {}, heldBack: ['x'], tasks: [{ state: 'running' }] },
            { stage: 'b', taken: { x: 2 }, unread: { x: 1 }, heldBack: [], tasks: [{ state: 'running' }] },
            { stage: 'c', unread: { x: 3 }, heldBack: [] },
          ],
        },
      ],
    })
    await finish(scene, at(line, 'c'))
    expect((await scene.read({ kind: 'pipeline', taskId: line.taskId }))?.stages).toMatchObject([
      { heldBack: [] },
      { unread: { x: 1 } },
      { stage: 'c', ended: true, unread: {}, tasks: [{ state: 'completed' }] },
    ])
    const second = await scene.accepted({ type: 'line' })
    const { leaseId } = await scene.claim()
    const open = { kind: 'openPipeline', leaseId, key: PIPELINE_KEY, position: 0, terms: chain } as const
    await scene.write(open)
    const newest = await scene.read({ kind: 'pipelines', limit: 1 })
    expect(newest.pipelines).toMatchObject([
      { taskId: second, state: 'running', seq: 0, stages: [{ stage: 'a', ended: false }, {}, {}] },
    ])
    expect(newest.pipelines[0]?.stages[0]?.tasks).toEqual([{ ended: false, taken: {}, unread: {} }])
    const { taskId: full } = at(line, 'a')
    await publish(scene, at(line, 'a'), 'p2', 'x', ['4', '5', '6'])
    const stageOf = async () => (await scene.read({ kind: 'pipeline', taskId: line.taskId }))?.stages[0]
    expect(await stageOf()).toMatchObject({ heldBack: ['x'] })
    await scene.write({ kind: 'cancel', taskId: full })
    expect(await stageOf()).toMatchObject({ heldBack: [], ended: false, tasks: [{ state: 'canceled' }] })
    const older = await scene.read({ kind: 'pipelines', limit: 1, before: newest.cursor })
    expect([older.pipelines.map(({ taskId }) => taskId), older.cursor]).toEqual([[line.taskId], undefined])
  })

  rule('13.2 the log takes events of stages that are at different attempts', async (scene) => {
    const line = await started(scene)
    const failed = at(line, 'a')
    expect(await scene.settle(failed, { as: 'retry', error: '{}', delayMs: 0 })).toBe('ok')
    scene.free('w')
    const again = await scene.claim()
    expect([again.taskId, again.attempt]).toEqual([failed.taskId, 2])
    await publish(scene, again, 'p1', 'x', ['1'])
    await publish(scene, at(line, 'b'), 'p1', 'y', ['2'])
    expect(await log(scene, line)).toEqual([
      [1, { data: 1, stage: 'a', type: 'x' }],
      [2, { data: 2, stage: 'b', type: 'y' }],
    ])
  })

  rule('13.2 events of several types are one publication, in order, all or none', async (scene) => {
    const line = await started(scene)
    const { taskId } = at(line, 'a')
    await waits(scene, at(line, 'b'), { for: 'events', types: ['x'] })
    const types = ['z', 'x', 'x', 'z', 'x']
    expect(await publish(scene, at(line, 'a'), 'p1', types, ['1', '2', '3', '4', '5'])).toEqual({
      fenced: 'ok',
      as: 'published',
      full: ['x'],
    })
    expect((await log(scene, line)).map(([seq, event]) => [seq, event])).toEqual(
      types.map((type, n) => [n + 1, { data: n + 1, stage: 'a', type }]),
    )
    expect(await scene.read({ kind: 'pipeline', taskId })).toMatchObject({
      seq: 5,
      published: { x: 3, z: 2 },
    })
    expect(await scene.steps(taskId)).toMatchObject([{ result: '{"count":5,"first":1}' }])
    const woken = await scene.claim()
    expect(await receive(scene, woken, 'r1', ['x'])).toMatchObject({
      ranges: [
        [2, 2],
        [5, 1],
      ],
    })
    const full = { fenced: 'ok', as: 'no_room', type: 'x' }
    expect(await publish(scene, at(line, 'a'), 'p2', ['z', 'x'], ['6', '7'])).toEqual(full)
    expect(await publish(scene, at(line, 'a'), 'p3', ['z', 'y'], ['6', '7'])).toMatchObject({
      as: 'unauthorized',
      type: 'y',
    })
    expect(await log(scene, line)).toHaveLength(5)
  })

  rule('13.2 the partitions of a stage share a publication of several types', async (scene) => {
    const terms: PipelineTerms = {
      stages: [stage('a', [], ['x', 'z']), { ...stage('b', ['x', 'z'], []), partitions: 2 }],
      maxUnread: 9,
    }
    const line = await started(scene, terms)
    const types = ['x', 'z', 'x', 'x', 'z']
    await publish(scene, at(line, 'a'), 'p1', types, ['1', '2', '3', '4', '5'], [null, 1, 4, null, null])
    const { ranges: first } = await received(scene, at(line, 'b/1'), ['x', 'z'])
    const { ranges: second } = await received(scene, at(line, 'b/2'), ['x', 'z'])
    expect([first, second]).toEqual([
      [
        [1, 1],
        [3, 2],
      ],
      [
        [2, 1],
        [5, 1],
      ],
    ])
  })

  rule('13.2 a key that was used answers as it did, and nothing is written twice', async (scene) => {
    const line = await started(scene)
    await publish(scene, at(line, 'a'), 'p1', 'x', ['1'])
    expect(await publish(scene, at(line, 'a'), 'p1', 'x', ['1'])).toEqual({ fenced: 'ok', as: 'published' })
    const first = await receive(scene, at(line, 'b'), 'r1', ['x'])
    expect(await receive(scene, at(line, 'b'), 'r1', ['x'])).toEqual(first)
    expect(await receive(scene, at(line, 'b'), 'r2', ['x'])).toMatchObject({ as: 'none' })
    expect(await log(scene, line)).toHaveLength(1)
    expect(await scene.steps(at(line, 'b').taskId)).toMatchObject([
      { key: keyOf(['x'], 'r1'), result: '{"ranges":[[1,1]]}' },
    ])
  })

  rule(
    '13.2 a pipeline with more tasks than slots says so, until enough of them have ended',
    async (scene) => {
      await scene.worker('w', 3)
      const taskId = await scene.accepted({ type: 'line' })
      const { leaseId } = await scene.claim()
      await scene.write({ kind: 'openPipeline', leaseId, key: PIPELINE_KEY, position: 0, terms: parted })
      for (const [position, place] of parted.stages.flatMap(partsOf).entries()) {
        const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: place.stage })
        const spawn = { kind: 'spawn', leaseId, policy: 'cancel', submission: task } as const
        await scene.write({ ...spawn, key: stageKey(place), position: position + 1 })
      }
      const patience = { key: 'patience', position: 9, kind: 'timer', delayMs: 1e9 } as const
      await scene.write({ kind: 'suspend', leaseId, waits: [patience], stay: false })
      const explain = () => scene.read({ kind: 'explain', taskId })
      const before = await explain()
      expect(before?.summary).toContain('; its 4 tasks share 3 slots, so they take turns')
      expect(before?.shortage).toEqual({ tasks: 4, slots: 3 })
      await finish(scene, await scene.claim())
      const after = await explain()
      expect(after?.summary).not.toContain('slots')
      expect(after?.shortage).toBeUndefined()
    },
  )

  rule(
    '13.2 a stage that waits for events holds no slot, and goes on in the commit that has them',
    async (scene) => {
      const line = await started(scene)
      const wait = { for: 'events', types: ['x'] } as const
      expect(await waits(scene, at(line, 'b'), wait)).toMatchObject({ suspended: true })
      const { taskId } = at(line, 'b')
      expect(await scene.task(taskId)).toMatchObject({ state: 'waiting' })
      expect((await scene.read({ kind: 'explain', taskId }))?.summary).toContain(
        "waits for events of type 'x' from stage 'a', which has not ended",
      )
      await publish(scene, at(line, 'a'), 'p0', 'z', ['0'])
      expect(await scene.task(taskId)).toMatchObject({ state: 'waiting' })
      await publish(scene, at(line, 'a'), 'p1', 'x', ['1'])
      const again = await scene.claim()
      expect(again).toMatchObject({ taskId, attempt: 1 })
      expect(await waits(scene, again, wait, '1')).toMatchObject({ suspended: false })
      expect(await receive(scene, again, 'r1', ['x'])).toMatchObject({ ranges: [[2, 1]] })
    },
  )

  rule(
    '13.2 a publisher is held back by a stage with too many unread events, without a slot',
    async (scene) => {
      const line = await started(scene)
      await publish(scene, at(line, 'a'), 'p1', 'x', ['1', '2'])
      await publish(scene, at(line, 'a'), 'p2', 'x', ['3', '4'])
      expect(await publish(scene, at(line, 'a'), 'p3', 'x', ['5'])).toEqual({
        fenced: 'ok',
        as: 'no_room',
        type: 'x',
      })
      expect(await publish(scene, at(line, 'a'), 'p4', 'z', ['9'])).toEqual({ fenced: 'ok', as: 'published' })
      expect(await receive(scene, at(line, 'b'), 'r1', ['x'])).toMatchObject({ full: ['x'] })
      expect(await waits(scene, at(line, 'a'), { for: 'room', type: 'x' })).toMatchObject({ suspended: true })
      const { taskId } = at(line, 'a')
      expect((await scene.read({ kind: 'explain', taskId }))?.summary).toContain(
        "waits for room for an event of type 'x': stage 'c' has 4 of them to receive, and maxUnread is 3; stage 'c' must receive some first",
      )
      const heldBack = [{ stage: 'a', type: 'x', maxUnread: 3, by: [{ stage: 'c', unread: 4 }] }]
      expect((await scene.read({ kind: 'explain', taskId }))?.heldBack).toEqual(heldBack)
      // The pipeline says the same of its stages.
      const whole = await scene.read({ kind: 'explain', taskId: line.taskId })
      expect(whole?.summary).toContain("; stage 'c' must receive some first")
      expect(whole?.heldBack).toEqual(heldBack)
      expect(whole?.children?.first[0]?.summary).toBe(
        "waits for room for an event of type 'x': stage 'c' has 4 of them to receive, and maxUnread is 3",
      )
      await receive(scene, at(line, 'c'), 'r1', ['x'], 1)
      expect(await scene.task(taskId)).toMatchObject({ state: 'waiting' })
      expect(await receive(scene, at(line, 'c'), 'r2', ['x'], 1)).toEqual({
        fenced: 'ok',
        as: 'received',
        ranges: [[2, 1]],
      })
      const again = await scene.claim()
      expect(again).toMatchObject({ taskId })
      expect(await publish(scene, again, 'p3', 'x', ['5'])).toMatchObject({ as: 'published' })
    },
  )

  rule(
    '13.2 explain says which stage waits for other events than those that it holds back, until it has room',
    async (scene) => {
      const line = await started(scene)
      await publish(scene, at(line, 'a'), 'p1', 'x', ['1', '2', '3'])
      await receive(scene, at(line, 'b'), 'r1', ['x'])
      await waits(scene, at(line, 'c'), { for: 'events', types: ['y'] })
      await waits(scene, at(line, 'a'), { for: 'room', type: 'x' })
      const explain = () => scene.read({ kind: 'explain', taskId: line.taskId })
      const stuck = await explain()
      expect(stuck?.summary).toContain(
        "; stage 'c' waits for events of type 'y', and receives no others meanwhile: name all types in one receive, or raise maxUnread",
      )
      const by = [{ stage: 'c', unread: 3, awaits: ['y'] }]
      expect(stuck?.heldBack).toEqual([{ stage: 'a', type: 'x', maxUnread: 3, by }])
      await publish(scene, at(line, 'b'), 'p1', 'y', ['4'])
      const slow = await explain()
      expect(slow?.heldBack).toEqual([
        { stage: 'a', type: 'x', maxUnread: 3, by: [{ stage: 'c', unread: 3 }] },
      ])
      const last = await scene.claim()
      await receive(scene, last, 'r1', ['x'])
      expect((await explain())?.heldBack).toBeUndefined()
    },
  )

  rule(
    '13.2 explain says of no stage that it waits for other events where something else may let it go on',
    async (scene) => {
      const line = await started(scene)
      await publish(scene, at(line, 'a'), 'p1', 'x', ['1', '2', '3'])
      await receive(scene, at(line, 'b'), 'r1', ['x'])
      const events = { for: 'events', types: ['y'] } as const
      const { leaseId } = at(line, 'c')
      const asked = { key: stageWaitKey('0', events), kind: 'signal', name: STAGE_WAIT_NAME } as const
      const nap = { key: 'nap', position: 2, kind: 'timer', delayMs: 1e9 } as const
      await scene.write({ kind: 'suspend', leaseId, waits: [{ ...asked, position: 1 }, nap], stay: false })
      await waits(scene, at(line, 'a'), { for: 'room', type: 'x' })
      const explained = await scene.read({ kind: 'explain', taskId: line.taskId })
      expect(explained?.heldBack).toEqual([
        { stage: 'a', type: 'x', maxUnread: 3, by: [{ stage: 'c', unread: 3 }] },
      ])
      expect(explained?.summary).toContain("; stage 'c' must receive some first")
    },
  )

  rule('13.2 the stream of a type ends when every stage that publishes it has completed', async (scene) => {
    const line = await started(scene)
    await publish(scene, at(line, 'a'), 'p1', 'x', ['1'])
    await waits(scene, at(line, 'c'), { for: 'events', types: ['y'] })
    await finish(scene, at(line, 'a'))
    expect(await receive(scene, at(line, 'b'), 'r1', ['x'])).toMatchObject({ ranges: [[1, 1]] })
    expect(await receive(scene, at(line, 'b'), 'r2', ['x'])).toMatchObject({ as: 'received', ranges: [] })
    expect(await scene.task(at(line, 'c').taskId)).toMatchObject({ state: 'waiting' })
    await finish(scene, at(line, 'b'))
    const last = await scene.claim()
    expect(last).toMatchObject({ taskId: at(line, 'c').taskId })
    expect(await receive(scene, last, 'r1', ['y'])).toMatchObject({ as: 'received', ranges: [] })
    expect(await receive(scene, last, 'r2', ['x'])).toMatchObject({ ranges: [[1, 1]] })
  })

  rule('13.2 a stage that has completed holds nobody back', async (scene) => {
    const line = await started(scene)
    await publish(scene, at(line, 'a'), 'p1', 'x', ['1', '2', '3'])
    await receive(scene, at(line, 'b'), 'r1', ['x'])
    await waits(scene, at(line, 'a'), { for: 'room', type: 'x' })
    await finish(scene, at(line, 'c'))
    expect(await scene.claim()).toMatchObject({ taskId: at(line, 'a').taskId })
  })

  rule('13.2 a stage that failed ends no stream', async (scene) => {
    const line = await started(scene)
    await waits(scene, at(line, 'b'), { for: 'events', types: ['x'] })
    await scene.settle(at(line, 'a'), { as: 'failed', kind: 'error', error: '{"message":"broken"}' })
    expect(await scene.task(at(line, 'b').taskId)).toMatchObject({ state: 'waiting' })
  })

  rule(
    '13.2 types that a stage does not have, tasks that are no stage, and lost leases write nothing',
    async (scene) => {
      const line = await started(scene)
      expect(await publish(scene, at(line, 'b'), 'p1', 'x', ['1'])).toEqual({
        fenced: 'ok',
        as: 'unauthorized',
        stage: 'b',
        type: 'x',
        allowed: ['y'],
      })
      expect(await receive(scene, at(line, 'b'), 'r1', ['x', 'y'])).toMatchObject({
        as: 'unauthorized',
        type: 'y',
      })
      await scene.accepted({ type: 'alone' })
      const alone = await scene.claim()
      expect(await publish(scene, alone, 'p1', 'x', ['1'])).toEqual({ fenced: 'ok', as: 'unknown_stage' })
      await scene.cancel(at(line, 'a').taskId)
      expect(await publish(scene, at(line, 'a'), 'p1', 'x', ['1'])).toEqual({ fenced: 'stale' })
      expect(await log(scene, line)).toEqual([])
    },
  )

  rule(
    '13.2 the key of an event decides which partition of a stage receives it; without keys they take turns',
    async (scene) => {
      const line = await started(scene, parted)
      await publish(scene, at(line, 'a'), 'p1', 'x', ['1', '2', '3', '4'], [8, 5, 8, null])
      await publish(scene, at(line, 'b/2'), 'p1', 'y', ['5'])
      await publish(scene, at(line, 'a'), 'p2', 'x', ['6'])
      expect((await log(scene, line)).map(([, event]) => event)).toEqual([
        { data: 1, stage: 'a', type: 'x', keyHash: 8 },
        { data: 2, stage: 'a', type: 'x', keyHash: 5 },
        { data: 3, stage: 'a', type: 'x', keyHash: 8 },
        { data: 4, stage: 'a', type: 'x' },
        { data: 5, stage: 'b', type: 'y', partition: 2 },
        { data: 6, stage: 'a', type: 'x' },
      ])
      const first = await receive(scene, at(line, 'b/1'), 'r1', ['x'], 2)
      expect(first).toMatchObject({
        ranges: [
          [1, 1],
          [3, 1],
        ],
      })
      expect(await receive(scene, at(line, 'b/1'), 'r1', ['x'], 2)).toEqual(first)
      expect(await receive(scene, at(line, 'b/2'), 'r1', ['x'])).toMatchObject({
        ranges: [
          [2, 1],
          [4, 1],
        ],
      })
      expect(await scene.read({ kind: 'pipeline', taskId: at(line, 'b/2').taskId })).toMatchObject({
        stage: 'b',
        partition: 2,
        terms: parted,
        stages: [
          { stage: 'a', tasks: [{ taskId: at(line, 'a').taskId, unread: {} }] },
          {
            stage: 'b',
            ended: false,
            taken: { x: 4 },
            tasks: [
              { partition: 1, taskId: at(line, 'b/1').taskId, taken: { x: 2 }, unread: { x: 1 } },
              { partition: 2, taskId: at(line, 'b/2').taskId, taken: { x: 2 }, unread: {} },
            ],
          },
          { stage: 'c', tasks: [{ unread: { y: 1 } }] },
        ],
      })
    },
  )

  rule('13.2 a stretch of the log is read without the events between', async (scene) => {
    const line = await started(scene, parted)
    await publish(scene, at(line, 'a'), 'p1', 'x', ['1', '2', '3', '4', '5', '6'])
    const { taskId } = at(line, 'b/1')
    const read = async (after: number, limit: number, ranges?: readonly LogRange[]) =>
      (await scene.read({ kind: 'pipelineEvents', taskId, after, limit, ranges }))?.map(({ seq }) => seq)
    const ranges: readonly LogRange[] = [
      [1, 1],
      [3, 2],
      [6, 1],
    ]
    expect(await read(0, 100, ranges)).toEqual([1, 3, 4, 6])
    expect(await read(1, 2, ranges)).toEqual([3, 4])
    expect(await read(3, 100, ranges)).toEqual([4, 6])
    expect(await read(3, 1, [[1, 9]])).toEqual([4])
    expect(await read(0, 100, [[7, 3]])).toEqual([])
    expect(await read(0, 100, [])).toEqual([])
    expect(await read(1, 3)).toEqual([2, 3, 4])
    const none = await scene.accepted({ type: 'alone' })
    expect(await scene.read({ kind: 'pipelineEvents', taskId: none, after: 0, limit: 1, ranges })).toBe(
      undefined,
    )
  })

  rule('13.2 only the partition that an event is for goes on, in the commit that has it', async (scene) => {
    const line = await started(scene, parted)
    const wait = { for: 'events', types: ['x'] } as const
    await waits(scene, at(line, 'b/1'), wait)
    await waits(scene, at(line, 'b/2'), wait)
    await publish(scene, at(line, 'a'), 'p1', 'x', ['1'], [7])
    expect(await scene.task(at(line, 'b/1').taskId)).toMatchObject({ state: 'waiting' })
    expect(await scene.claim()).toMatchObject({ taskId: at(line, 'b/2').taskId })
  })

  rule('13.2 a publisher is held back by one partition with too many unread events', async (scene) => {
    const line = await started(scene, parted)
    await publish(scene, at(line, 'a'), 'p1', 'x', ['1', '2', '3', '4'], [1, 1, 1, 0])
    expect(await publish(scene, at(line, 'a'), 'p2', 'x', ['5'], [0])).toMatchObject({ as: 'no_room' })
    await waits(scene, at(line, 'a'), { for: 'room', type: 'x' })
    const { taskId } = at(line, 'a')
    expect((await scene.read({ kind: 'explain', taskId }))?.summary).toContain(
      "waits for room for an event of type 'x': partition 2 of stage 'b' has 3 of them to receive, and maxUnread is 3",
    )
    await receive(scene, at(line, 'b/1'), 'r1', ['x'])
    expect(await scene.task(taskId)).toMatchObject({ state: 'waiting' })
    await receive(scene, at(line, 'b/2'), 'r1', ['x'], 1)
    expect(await scene.claim()).toMatchObject({ taskId })
  })

  rule(
    '13.2 the end of a stream comes to every partition, and all of them have to complete to end their own',
    async (scene) => {
      const line = await started(scene, parted)
      await waits(scene, at(line, 'b/1'), { for: 'events', types: ['x'] })
      await waits(scene, at(line, 'c'), { for: 'events', types: ['y'] })
      const { taskId } = at(line, 'c')
      expect((await scene.read({ kind: 'explain', taskId }))?.summary).toContain(
        "waits for events of type 'y' from partition 1 of stage 'b', partition 2 of stage 'b', which have not ended",
      )
      await finish(scene, at(line, 'a'))
      const one = await scene.claim()
      expect(one).toMatchObject({ taskId: at(line, 'b/1').taskId })
      for (const claim of [one, at(line, 'b/2')]) {
        expect(await scene.task(taskId)).toMatchObject({ state: 'waiting' })
        expect(await receive(scene, claim, 'r1', ['x'])).toMatchObject({ as: 'received', ranges: [] })
        await finish(scene, claim)
      }
      const last = await scene.claim()
      expect(last).toMatchObject({ taskId })
      expect(await receive(scene, last, 'r1', ['y'])).toMatchObject({ as: 'received', ranges: [] })
    },
  )

  rule(
    '13.2 a partition that failed ends no stream; one that has completed holds nobody back',
    async (scene) => {
      const line = await started(scene, parted)
      await publish(scene, at(line, 'a'), 'p1', 'x', ['1', '2', '3'], [0, 0, 0])
      await waits(scene, at(line, 'a'), { for: 'room', type: 'x' })
      await finish(scene, at(line, 'b/1'))
      expect(await scene.claim()).toMatchObject({ taskId: at(line, 'a').taskId })
      await waits(scene, at(line, 'c'), { for: 'events', types: ['y'] })
      await scene.settle(at(line, 'b/2'), { as: 'failed', kind: 'error', error: '{"message":"broken"}' })
      expect(await scene.task(at(line, 'c').taskId)).toMatchObject({ state: 'waiting' })
    },
  )
}

/** `r1`: the first receipt of these types. */
function keyOf(types: readonly string[], nth: string): string {
  return receiptKey(types, Number(nth.slice(1)))
}

function roomy({ config = {} }: SceneOptions): SceneOptions {
  return { config: { ...config, maxInFlightPerWorker: slots } }
}
