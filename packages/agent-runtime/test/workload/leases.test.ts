import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createRuntime, RuntimeError, TaskRejected, type TaskLease } from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { all, turns, virtualEnvironment, virtualRuntime } from '../virtual-runtime.ts'

const minute = 60_000
const controller = () => new AbortController()

describe('leases that callers hold (docs/semantics.md 10.1, 10.4)', () => {
  test.each(['HEAVY', 'EXTREME'] as const)(
    '10.1 %s is refused without an abort controller, by name',
    async (profile) => {
      const { runtime } = await virtualRuntime({ tasks: [] })
      await expect(runtime.startTask('ml/train', { profile })).rejects.toThrow(
        `the profile ${profile} needs an abortController`,
      )
      runtime.setRouteProfile('ml/train', profile)
      await expect(runtime.startTask('ml/train')).rejects.toMatchObject({ code: 'invalid_argument' })
      expect((await runtime.list()).tasks).toEqual([])
    },
  )

  test.each([
    [{ profile: 'LIGTH' }, 'profile: LIGHT | STANDARD | HEAVY | EXTREME | CUSTOM, did you mean LIGHT?'],
    [{ profile: null }, 'profile: LIGHT | STANDARD | HEAVY | EXTREME | CUSTOM; given null'],
    [{ profile: 'CUSTOM' }, "'CUSTOM' with a config"],
    [{ timeout: 0 }, 'timeout'],
    [{ abortController: {} }, 'an AbortController'],
    [{ abortcontroller: 1 }, 'did you mean abortController?'],
    [{ limits: { soft: { cpuTimeUs: 2 }, hard: { cpuTimeUs: 1 } } }, 'at most the hard limit'],
  ])('bad options are refused by name: %j', async (options, message) => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    const start = runtime.startTask('x', options as never)
    await expect(start).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message),
    })
  })

  test('10.1 is a task like any other to everybody else', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    const lease = await runtime.startTask('report', { labels: { of: 'me' }, taskId: 'mine' })
    expect(lease).toMatchObject({ taskId: 'mine', routeId: 'report', profile: 'STANDARD' })
    expect(lease.expiresAt).toBe(lease.startedAt + 30_000)
    expect(await runtime.status('mine')).toMatchObject({ state: 'running', held: true, labels: { of: 'me' } })
    expect((await runtime.list({ states: ['running'] })).tasks).toHaveLength(1)
    expect(await runtime.stats()).toMatchObject({ running: 1, depth: { normal: 0 } })
    expect(await runtime.explain('mine')).toMatchObject({ summary: 'is run by its caller' })
    await lease.release({ output: { pages: 3 } })
    expect(await runtime.result('mine')).toEqual({ pages: 3 })
    const types = (await all(runtime.events('mine'))).map(({ type }) => type)
    expect(types).toEqual(['task.queued', 'task.started', 'task.completed'])
  })

  test('10.4 releasing twice is releasing once; a heartbeat after it throws; remainingMs is never negative', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [] })
    const lease = await runtime.startTask('report')
    expect(lease.budget()).toEqual({ cpuTimeUs: Infinity, memoryBytes: Infinity, remainingMs: 30_000 })
    await Promise.all([lease.release(), lease.release({ error: new Error('late') })])
    expect(await runtime.status(lease.taskId)).toMatchObject({ state: 'completed' })
    await expect(lease.heartbeat()).rejects.toThrow(RuntimeError)
    await expect(lease.heartbeat()).rejects.toThrow('was released')
    // Nobody listens: it is no unhandled rejection either.
    void lease.heartbeat()
    await elapse(60_000)
    expect(lease.budget().remainingMs).toBe(0)
    await lease[Symbol.asyncDispose]()
  })

  test('10.4 remainingMs is whole, and 0 when nothing is left or the lease is over', async () => {
    const { runtime, block } = await virtualRuntime({ tasks: [] })
    const [lease, canceled] = [await runtime.startTask('report'), await runtime.startTask('report')]
    await block(1_000.25)
    expect(lease.budget().remainingMs).toBe(29_000)
    await lease.release()
    expect(lease.budget().remainingMs).toBe(0)
    await runtime.cancel(canceled.taskId)
    await turns()
    expect(canceled.budget().remainingMs).toBe(0)
    await canceled.release()
    const late = await runtime.startTask('report')
    await block(29_999.25)
    expect(late.budget().remainingMs).toBe(1)
    await block(0.75)
    expect(late.budget().remainingMs).toBe(0)
    await late.release()
  })

  test('an outcome that cannot be stored is refused, and releases nothing', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    const lease = await runtime.startTask('report')
    await expect(lease.release({ output: () => {} })).rejects.toMatchObject({ code: 'step_not_serializable' })
    await expect(lease.release({ outputs: 1 } as never)).rejects.toThrow('{ output } or { error }')
    await lease.heartbeat()
    await lease.release({ output: 1 })
    expect(await runtime.result(lease.taskId)).toBe(1)
  })

  test('await using releases it, with the error that it failed with', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    let taskId = ''
    {
      await using lease = await runtime.startTask('report')
      ;({ taskId } = lease)
    }
    expect(await runtime.status(taskId)).toMatchObject({ state: 'completed' })
    const lease = await runtime.startTask('report')
    await lease.release({ error: new TypeError('broken') })
    expect(await runtime.status(lease.taskId)).toMatchObject({
      state: 'failed',
      kind: 'error',
      error: { name: 'TypeError', message: 'broken' },
    })
  })

  test('10.7 heartbeats are kept, count against the budget, and are reported to observers', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [] })
    const heard: unknown[] = []
    using _ = runtime.observe({
      onLeaseAcquired: ({ routeId }) => heard.push(['acquired', routeId]),
      onHeartbeat: ({ progress, memoryUsed }) => heard.push(['heartbeat', progress, memoryUsed]),
      onLeaseReleased: ({ duration, outcome }) => heard.push(['released', duration, outcome]),
    })
    const limits = { hard: { cpuTimeUs: 1_000, memoryBytes: 500 } }
    const lease = await runtime.startTask('report', { limits })
    await elapse(1_000)
    await lease.heartbeat({ progress: 0.5, memoryUsed: 100, computeUs: 400, errorRate: 0.1, saturation: 0.2 })
    expect(lease.budget()).toEqual({ cpuTimeUs: 600, memoryBytes: 500, remainingMs: 29_000 })
    await elapse(500)
    expect(lease.telemetry()).toEqual({
      latencyMs: 1_500,
      heartbeatAge: 500,
      progress: 0.5,
      memoryBytes: 100,
      computeUs: 400,
      errorRate: 0.1,
      saturation: 0.2,
    })
    expect(await runtime.leases(lease.taskId)).toMatchObject([{ progress: 0.5, workerId: 'caller' }])
    await lease.release()
    expect(heard).toEqual([
      ['acquired', 'report'],
      ['heartbeat', 0.5, 100],
      ['released', 1_500, 'completed'],
    ])
    const other = await runtime.startTask('report')
    for (const progress of [50, -0.1, Number.NaN])
      await expect(other.heartbeat({ progress })).rejects.toThrow('progress: a number from 0 to 1')
    await other.heartbeat({ progress: 'half' })
    await expect(other.heartbeat({ progress: 1, memory: 3 } as never)).rejects.toThrow(
      'heartbeat option memory: no such option',
    )
  })

  test('C9 at its deadline the controller aborts, and the scar is left when it is released', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [], config: { abortGraceMs: 10 * minute } })
    const expired: unknown[] = []
    using _ = runtime.observe({ onLeaseExpired: ({ routeId, reason }) => expired.push([routeId, reason]) })
    const abortController = controller()
    const lease = await runtime.startTask('ml/train', {
      profile: 'EXTREME',
      timeout: 30 * minute,
      abortController,
    })
    for (let at = 0; at < 30 * minute; at += 20_000) {
      await lease.heartbeat()
      await elapse(20_000)
    }
    expect(abortController.signal.aborted).toBe(false)
    await elapse(3 * minute)
    expect(abortController.signal.reason).toMatchObject({ code: 'budget_exceeded' })
    expect(expired).toEqual([['ml/train', 'timeout']])
    expect(await runtime.status(lease.taskId)).toMatchObject({ state: 'failed', kind: 'budget_exceeded' })
    expect((await runtime.routes())[0]).toMatchObject({ scar: 0, healthy: false })
    await expect(lease.heartbeat()).rejects.toMatchObject({ code: 'budget_exceeded' })
    await lease.release()
    await turns()
    expect((await runtime.routes())[0]?.scar).toBeCloseTo(0.5, 6)
    expect((await runtime.routes())[0]).toMatchObject({ healthy: false })
    const again = await runtime.startTask('ml/train', { profile: 'LIGHT' })
    await again.release()
    expect((await runtime.routes())[0]).toMatchObject({ healthy: true })
  })

  test('C9 one that is never released is leaked at abortGraceMs, and its scar counts to there', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [] })
    const lease = await runtime.startTask('report')
    await elapse(60_001)
    expect((await runtime.routes())[0]).toMatchObject({ circuit: 'open' })
    const types = (await all(runtime.events(lease.taskId))).map(({ type }) => type)
    expect(types).toContain('task.failed')
    await lease.release()
    await expect(runtime.startTask('report')).rejects.toThrow(TaskRejected)
  })

  test('5.4 one that is not given back within abortGraceMs is listed as leaked until it is', async () => {
    const { runtime, elapse, environment } = await virtualRuntime({ tasks: [] })
    const overdue = await runtime.startTask('report')
    const canceled = await runtime.startTask('other')
    await runtime.cancel(canceled.taskId)
    await elapse(30_000)
    const at = environment.clock.now()
    expect(runtime.leaked()).toMatchObject([{ taskId: canceled.taskId, reason: 'canceled' }])
    await elapse(30_000)
    expect(runtime.leaked()).toHaveLength(1)
    await elapse(2)
    expect(runtime.leaked()).toMatchObject([
      { taskId: overdue.taskId, type: 'report', leaseId: overdue.id, reason: 'budget_exceeded' },
      { taskId: canceled.taskId, type: 'other', workerId: 'caller', attempt: 1, at: expect.closeTo(at, -1) },
    ])
    expect(await runtime.stats()).toMatchObject({ leaked: 2, inFlight: 0 })
    expect((await all(runtime.events(overdue.taskId))).at(-1)).toMatchObject({ type: 'task.leaked' })
    await canceled.release()
    expect(runtime.leaked()).toMatchObject([{ taskId: overdue.taskId }])
    await overdue.release()
    expect(runtime.leaked()).toEqual([])
    expect(await runtime.stats()).toMatchObject({ leaked: 0 })
  })

  test('10.5 a hard limit aborts it and opens the circuit; refusals name the reason', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    const expired: unknown[] = []
    using _ = runtime.observe({ onLeaseExpired: ({ reason }) => expired.push(reason) })
    runtime.setRouteProfile('ml/training', {
      profile: 'EXTREME',
      limits: {
        soft: { cpuTimeUs: 30_000_000, memoryBytes: 8_000_000_000 },
        hard: { cpuTimeUs: 60_000_000, memoryBytes: 16_000_000_000 },
      },
    })
    const abortController = controller()
    const lease = await runtime.startTask('ml/training', { abortController })
    await expect(lease.heartbeat({ computeUs: 60_000_001 })).rejects.toMatchObject({
      code: 'budget_exceeded',
    })
    expect(abortController.signal.reason).toMatchObject({ code: 'budget_exceeded' })
    expect(expired).toEqual(['budget_exceeded'])
    const refused = await runtime
      .startTask('ml/training', { abortController: controller() })
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ name: 'TaskRejected', reason: 'circuit_open' })
    await lease.release()
  })

  test('10.5 measured usage counts as well, and is no heartbeat', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [] })
    let memoryBytes = 10
    const abortController = controller()
    const limits = { hard: { memoryBytes: 100 } }
    const options = { profile: 'EXTREME', abortController, limits, measure: () => ({ memoryBytes }) } as const
    const lease = await runtime.startTask('probed', options)
    await elapse(30_000)
    expect((await runtime.routes())[0]).toMatchObject({ circuit: 'open', scar: 1 })
    expect(lease.telemetry()).toMatchObject({ memoryBytes: 10 })
    memoryBytes = 101
    await elapse(5_000)
    expect(abortController.signal.reason).toMatchObject({ code: 'budget_exceeded' })
    await lease.release()
  })

  test('C8 one whose required heartbeats stop leaves a scar, once for each silence, and stays its holder’s', async () => {
    const { runtime, elapse, log } = await virtualRuntime({ tasks: [] })
    const silences = () => log.filter(({ message }) => message.includes('requires heartbeats')).length
    const abortController = controller()
    const lease = await runtime.startTask('ml/train', { profile: 'HEAVY', abortController })
    await elapse(20_000)
    await lease.heartbeat({ progress: 0.1 })
    await elapse(29_999)
    expect(await runtime.routes()).toMatchObject([{ circuit: 'closed', healthy: true }])
    await elapse(1)
    expect(await runtime.routes()).toMatchObject([{ circuit: 'open', healthy: false, scar: 1 }])
    await elapse(40_000)
    expect(silences()).toBe(1)
    await lease.heartbeat({ progress: 0.2 })
    await elapse(30_000)
    expect(silences()).toBe(2)
    expect(abortController.signal.aborted).toBe(false)
    await lease.release({ output: 'trained' })
    expect(await runtime.result(lease.taskId)).toBe('trained')
    await elapse(60_000)
    expect(silences()).toBe(2)
  })

  test('5.1 canceled from elsewhere: its controller aborts with the reason', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    const lease = await runtime.startTask('report')
    await runtime.cancel(lease.taskId, { reason: 'enough' })
    await turns()
    expect(lease.signal.reason).toMatchObject({ code: 'task_canceled' })
    await lease.release()
    expect(await runtime.status(lease.taskId)).toMatchObject({ state: 'canceled', reason: 'enough' })
    expect(await runtime.routes()).toEqual([])
  })

  test('5.6 a runtime that stops gives them their grace, then cancels them', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [] })
    const [kept, released] = [await runtime.startTask('a'), await runtime.startTask('b')]
    const stopping = runtime.stop({ graceMs: 1_000 })
    await elapse(500)
    await released.release()
    await elapse(1_000)
    expect(kept.signal.reason).toMatchObject({ code: 'shutdown' })
    expect(await stopping).toMatchObject({ drained: false })
    await expect(runtime.startTask('c')).rejects.toMatchObject({ code: 'shutdown' })
  })

  test.each([true, false])(
    '5.6 one that was asked for before a stop is canceled with the others (drain: %s)',
    async (drain) => {
      const { runtime, store, elapse } = await virtualRuntime({ tasks: [] })
      const starting = runtime.startTask('report')
      const stopping = runtime.stop({ drain, graceMs: 1_000 })
      const lease = await starting
      await elapse(1_001)
      expect(lease.signal.reason).toMatchObject({ code: 'shutdown' })
      await lease.release()
      expect(await stopping).toMatchObject({ drained: false })
      const { taskId } = lease
      expect(await store.read({ kind: 'task', taskId })).toMatchObject({ state: 'canceled' })
    },
  )

  test('6.3 a lease cannot be retried: nobody else could run it', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    const lease = await runtime.startTask('report')
    await lease.release({ error: new Error('no') })
    await expect(runtime.retry(lease.taskId)).rejects.toThrow('run by its caller')
  })

  test('C8 a lease whose process died is failed by another as lease_lost, without a scar', async () => {
    const database = join(folder(), 'store.db')
    const environment = virtualEnvironment()
    const first = await virtualRuntime({ tasks: [], database, environment })
    const lease: TaskLease = await first.runtime.startTask('report')
    await first.store.close()
    const second = await virtualRuntime({ tasks: [], database, environment })
    await second.elapse(30_001)
    expect(await second.runtime.status(lease.taskId)).toMatchObject({ state: 'failed', kind: 'lease_lost' })
    expect(await second.runtime.routes()).toEqual([])
  })

  test('on a store with a thread of its own it works the same', async () => {
    await using runtime = await createRuntime({
      store: 'sqlite::memory:',
      tasks: [],
      telemetry: false,
      logger: false,
    })
    await using lease = await runtime.startTask('report', { limits: { hard: { cpuTimeUs: 10 } } })
    await lease.heartbeat({ computeUs: 4 })
    expect(lease.budget()).toMatchObject({ cpuTimeUs: 6, memoryBytes: Infinity })
  })
})
