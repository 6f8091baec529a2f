import type { TaskFilter } from '@ku0/agent-runtime-core'
import { ExecutionLease, TaskRecord, WorkerStatus } from '@ku0/agent-runtime-core/schemas'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function reads({ rule, timed, expect }: Suite): void {
  const list = async (scene: Scene, filter: TaskFilter) => {
    const { tasks, cursor } = await scene.read({ kind: 'tasks', filter })
    return { sequences: tasks.map(({ sequence }) => sequence), cursor }
  }
  /** One task in each state that can be reached here; their ids by state. */
  async function oneOfEach(scene: Scene): Promise<Record<string, string>> {
    const end = async (settlement: Parameters<Scene['settle']>[1]) => {
      const claim = await scene.running()
      await scene.settle(claim, settlement)
      return claim.taskId
    }
    const completed = await end({ as: 'completed', output: '1' })
    const failed = await end({ as: 'failed', kind: 'timeout', error: '{"message":"late"}' })
    const canceled = await scene.accepted({ type: 'other', lane: 'batch' })
    await scene.cancel(canceled, 'why not')
    const running = (await scene.running({ lane: 'interactive' })).taskId
    const rejected = await scene.submit({
      type: 'other',
      lane: 'batch',
      refused: { reason: 'invalid_payload', message: 'no' },
    })
    const queued = await scene.accepted({ type: 'other' })
    return { completed, failed, canceled, running, rejected: rejected.taskId, queued }
  }

  rule('a task that is unknown is undefined, and so is all about it', async (scene) => {
    const known = await scene.accepted()
    for (const taskId of ['', 'nobody', '__proto__', `${known.slice(0, -1)}f`, known.toUpperCase() + ' ']) {
      expect(await scene.read({ kind: 'task', taskId })).toBeUndefined()
      expect(await scene.read({ kind: 'events', taskId, after: 0, limit: 10 })).toBeUndefined()
      expect(await scene.read({ kind: 'output', taskId, after: 0, limit: 10 })).toBeUndefined()
      expect(await scene.read({ kind: 'explain', taskId })).toBeUndefined()
      expect(await scene.steps(taskId)).toEqual([])
      expect(await scene.read({ kind: 'leases', taskId })).toEqual([])
    }
  })

  rule('records of every state, leases and workers are what their schemas say', async (scene) => {
    const tasks = await oneOfEach(scene)
    for (const [state, taskId] of Object.entries(tasks)) {
      const task = await scene.task(taskId)
      expect(TaskRecord.safeParse(task).error?.message).toBeUndefined()
      expect(task.state).toBe(state)
      for (const lease of await scene.read({ kind: 'leases', taskId }))
        expect(ExecutionLease.safeParse(lease).error?.message).toBeUndefined()
    }
    for (const worker of await scene.read({ kind: 'workers' }))
      expect(WorkerStatus.safeParse(worker).error?.message).toBeUndefined()
  })

  rule('a task says what was submitted', async (scene) => {
    const taskId = await scene.accepted({
      input: '{"a":1}',
      client: 'c',
      model: 'm',
      tools: ['t', 'u'],
      labels: { b: '2', a: '1' },
    })
    expect(await scene.task(taskId)).toMatchObject({
      taskId,
      sequence: 1,
      type: 'work',
      lane: 'normal',
      attempt: 1,
      crashes: 0,
      steps: 0,
      client: 'c',
      model: 'm',
      tools: ['t', 'u'],
      labels: { a: '1', b: '2' },
      input: '{"a":1}',
    })
  })

  rule('tasks are listed newest first, in pages', async (scene) => {
    await scene.submitMany(7)
    expect(await list(scene, { limit: 3 })).toEqual({ sequences: [7, 6, 5], cursor: 5 })
    expect(await list(scene, { limit: 3, cursor: 5 })).toEqual({ sequences: [4, 3, 2], cursor: 2 })
    expect(await list(scene, { limit: 3, cursor: 2 })).toEqual({ sequences: [1], cursor: undefined })
    expect(await list(scene, { limit: 7 })).toEqual({ sequences: [7, 6, 5, 4, 3, 2, 1], cursor: undefined })
    expect((await list(scene, { limit: 6 })).cursor).toBe(2)
  })

  rule(
    'a page holds 100 unless said otherwise, and 1000 at the most',
    async (scene) => {
      await scene.submitMany(600)
      await scene.submitMany(600)
      expect((await list(scene, {})).sequences).toHaveLength(100)
      expect((await list(scene, { limit: 5_000 })).sequences).toHaveLength(1_000)
      expect((await list(scene, { limit: 0 })).sequences).toHaveLength(1)
    },
    { config: { queueDepthLimit: 2_000 } },
  )

  rule('pages join without a gap or a repeat while tasks come in and end', async (scene) => {
    await scene.submitMany(10)
    const first = await list(scene, { limit: 4 })
    await scene.submitMany(3)
    await scene.worker('w', 4)
    const rest = await list(scene, { limit: 100, cursor: first.cursor })
    expect([...first.sequences, ...rest.sequences]).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
  })

  rule('tasks are filtered by state, type and lane, together', async (scene) => {
    const tasks = await oneOfEach(scene)
    const sequence = async (state: string) => (await scene.task(tasks[state] as string)).sequence
    for (const state of ['queued', 'running', 'completed', 'failed', 'canceled', 'rejected'] as const)
      expect((await list(scene, { states: [state] })).sequences).toEqual([await sequence(state)])
    expect((await list(scene, { states: ['waiting'] })).sequences).toEqual([])
    expect((await list(scene, { states: ['failed', 'completed'] })).sequences).toEqual([2, 1])
    expect((await list(scene, { types: ['work'] })).sequences).toEqual([4, 2, 1])
    expect((await list(scene, { lanes: ['interactive'] })).sequences).toEqual([4])
    expect((await list(scene, { types: ['other'], lanes: ['normal'] })).sequences).toEqual([6])
    expect((await list(scene, { types: ['work'], states: ['failed'], lanes: ['normal'] })).sequences).toEqual(
      [2],
    )
    expect((await list(scene, { types: ['no such type'] })).sequences).toEqual([])
    expect((await list(scene, { states: [] })).sequences).toEqual([])
  })

  rule('a rejected task is found by its type and lane as well', async (scene) => {
    await oneOfEach(scene)
    expect((await list(scene, { types: ['other'] })).sequences).toEqual([6, 5, 3])
    expect((await list(scene, { types: ['other'], lanes: ['batch'] })).sequences).toEqual([5, 3])
    expect((await list(scene, { states: ['rejected'], lanes: ['batch'] })).sequences).toEqual([5])
    expect((await list(scene, { states: ['rejected'], types: ['work'] })).sequences).toEqual([])
  })

  rule('tasks are filtered by client and labels, whatever a label is named', async (scene) => {
    const odd = { 'a.b': '1', '$.x': "it's", '0': 'zero', '"': '', client: 'no', '[0]': 'é' }
    await scene.accepted({ client: 'ada', labels: { tenant: 'one', kind: 'mail' } })
    await scene.accepted({ client: 'ada', labels: { tenant: 'two' } })
    await scene.accepted({ client: 'bob', labels: { tenant: 'one', ...odd } })
    await scene.accepted({ type: 'other', lane: 'batch' })
    await scene.cancel(await scene.accepted({ client: 'ada', lane: 'batch' }))
    const found = async (filter: TaskFilter) => (await list(scene, filter)).sequences
    expect(await found({ client: 'ada' })).toEqual([5, 2, 1])
    expect(await found({ client: 'ada', states: ['queued'], labels: { tenant: 'one' } })).toEqual([1])
    expect(await found({ labels: { tenant: 'one' } })).toEqual([3, 1])
    expect(await found({ labels: { tenant: 'one', kind: 'mail' } })).toEqual([1])
    expect(await found({ labels: { tenant: 'One' } })).toEqual([])
    expect(await found({ labels: odd })).toEqual([3])
    for (const [name, value] of Object.entries(odd)) {
      expect(await found({ labels: { [name]: value } })).toEqual([3])
      expect(await found({ labels: { [name]: `${value}.` } })).toEqual([])
    }
    expect(await found({ client: 'ad' })).toEqual([])
    // What stands in an input, or beside the client, is no label and no client.
    const input = '{"client":"eve","labels":{"tenant":"six"}}'
    const budget = { limits: { steps: 9 }, soft: {} }
    await scene.accepted({ client: 'ada', budget, labels: { tenant: 'six' }, input })
    await scene.accepted({ client: 'eve', input })
    expect(await found({ client: 'eve' })).toEqual([7])
    expect(await found({ client: 'ada' })).toEqual([6, 5, 2, 1])
    expect(await found({ labels: { tenant: 'six' } })).toEqual([6])
    expect(await found({ labels: {} })).toHaveLength(7)
  })

  rule('tasks are listed without their values, however large those are', async (scene) => {
    const odd = JSON.stringify({ text: `${'x'.repeat(5_000)}\u0000` })
    const inputs = ['1', JSON.stringify('x'.repeat(5_000)), odd]
    for (const input of inputs) await scene.accepted({ client: 'ada', labels: { n: 'one' }, input })
    await scene.worker('w', 2)
    const claims = [await scene.claim(), await scene.claim()]
    await scene.settle(claims[0], { as: 'completed', output: JSON.stringify('y'.repeat(5_000)) })
    await scene.settle(claims[1], {
      as: 'failed',
      kind: 'error',
      error: '{"message":"broken","name":"Error"}',
    })
    const whole = (await scene.read({ kind: 'tasks', filter: {} })).tasks
    expect(whole.map(({ input }) => input)).toEqual(inputs.toReversed())
    const { tasks } = await scene.read({ kind: 'tasks', filter: { values: false } })
    expect(tasks).toEqual(
      whole.map((task) => ({
        ...task,
        input: undefined,
        ...(task.state === 'completed' ? { output: 'null' } : {}),
      })),
    )
    expect(tasks.map(({ state }) => state)).toEqual(['queued', 'failed', 'completed'])
  })

  rule('events are read after a seq, up to a limit', async (scene) => {
    const claim = await scene.running()
    for (let n = 0; n < 5; n++) await scene.step(claim, `k${n}`, String(n), n)
    const seqs = async (after: number, limit: number) =>
      (await scene.read({ kind: 'events', taskId: claim.taskId, after, limit }))?.map(({ seq }) => seq)
    expect(await seqs(0, 3)).toEqual([1, 2, 3])
    expect(await seqs(3, 3)).toEqual([4, 5, 6])
    expect(await seqs(6, 3)).toEqual([7])
    expect(await seqs(7, 3)).toEqual([])
  })

  const explained = (scene: Scene, taskId: string) => scene.read({ kind: 'explain', taskId })
  rule('explain says of every state why a task is where it is', async (scene) => {
    const tasks = await oneOfEach(scene)
    expect(await explained(scene, tasks['completed'] as string)).toMatchObject({ state: 'completed' })
    expect(await explained(scene, tasks['failed'] as string)).toMatchObject({
      state: 'failed',
      reason: 'timeout',
    })
    expect(await explained(scene, tasks['canceled'] as string)).toMatchObject({
      state: 'canceled',
      reason: 'why not',
    })
    expect(await explained(scene, tasks['rejected'] as string)).toMatchObject({
      state: 'rejected',
      reason: 'invalid_payload',
    })
    expect(await explained(scene, tasks['running'] as string)).toMatchObject({
      state: 'running',
      lease: { status: 'running', workerId: 'w2' },
    })
    for (const taskId of Object.values(tasks)) {
      const explanation = await explained(scene, taskId)
      expect(explanation?.taskId).toBe(taskId)
      expect((explanation?.summary ?? '').length).toBeGreaterThan(5)
    }
  })

  rule(
    'explain says what a queued task waits for: a delay, a worker, a quota, a slot; and how many come before it',
    async (scene) => {
      const waits = async (taskId: string) => {
        const { waitsFor, ahead } = (await explained(scene, taskId)) ?? {}
        return ahead === undefined ? waitsFor : `${waitsFor} after ${ahead}`
      }
      await scene.worker('w', 1, ['work'])
      await scene.accepted({ model: 'big' })
      const slot = await scene.accepted()
      const quota = await scene.accepted({ model: 'big' })
      const delay = await scene.accepted({ delayMs: 60_000 })
      const worker = await scene.accepted({ type: 'unheard of' })
      const batch = await scene.accepted({ lane: 'batch' })
      const urgent = await scene.accepted({ lane: 'interactive' })
      expect(await waits(slot)).toBe('slot after 1')
      expect(await waits(quota)).toBe('quota:model:big after 2')
      expect(await waits(delay)).toBe('delay')
      expect(await waits(worker)).toBe('worker after 3')
      expect(await waits(batch)).toBe('slot after 4')
      expect(await waits(urgent)).toBe('slot after 0')
      await scene.write({ kind: 'drainWorkers', workerIds: ['w'] })
      expect(await waits(slot)).toBe('worker after 1')
    },
    { config: { quotaConfig: { models: { big: { maxInFlight: 1, onExceeded: 'defer' } } } } },
  )

  timed('stats are the sums of what happened, and counts of what is', async (scene) => {
    await oneOfEach(scene)
    await scene.submitMany(2, { type: 'other', lane: 'batch' })
    await scene.accepted({ delayMs: 60_000 })
    expect(await scene.stats()).toMatchObject({
      depth: { interactive: 0, normal: 1, batch: 2 },
      delayed: 1,
      running: 1,
      waiting: 0,
      totals: {
        submitted: 8,
        rejected: 1,
        completed: 1,
        failed: 1,
        canceled: 1,
        requeued: 0,
        expired: 0,
        preempted: 0,
      },
      quotas: [],
      staleWrites: 0,
    })
    await scene.jump(30_000)
    expect(await scene.stats()).toMatchObject({ running: 0, totals: { requeued: 1, expired: 1 } })
  })

  rule('a store says of itself where it is and what an acknowledgement means', async (scene) => {
    const { info } = scene.store
    expect(info.storeId.length).toBe(17)
    expect(['sqlite', 'memory', 'postgres']).toContain(info.kind)
    expect(['full', 'normal', 'memory']).toContain(info.durability)
    expect(info.schemaVersion).toBeGreaterThan(0)
    expect(Object.keys(info.versions).length).toBeGreaterThan(0)
  })
}
