import type { BudgetOptions, RateLimit, Usage } from '@ku0/agent-runtime-core'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type AgentOptions,
  type AgentSettings,
  type ApprovalFilter,
  type ApprovalOptions,
  type BranchesOptions,
  type BudgetFilter,
  type CancelFilter,
  type CancelManyOptions,
  type RetryFilter,
  type RetryManyOptions,
  type ChildWaitOptions,
  type ClientOptions,
  type ClientSettings,
  type CompositionOptions,
  type ContinueOptions,
  createClient,
  createRuntime,
  type CronTiming,
  type DeployCheck,
  defineTask,
  type DriftOptions,
  type EdgeOptions,
  type EvaluationOptions,
  type EvaluationPage,
  type EvaluationSettings,
  type ExecOptions,
  type FollowOptions,
  type ForkOptions,
  type GraphSettings,
  type HeldAgentOptions,
  type Heartbeat,
  type IntervalTiming,
  type LeaseHeartbeat,
  type ListFilter,
  type NodeOptions,
  RateLimited,
  type ReplayOptions,
  type PruneOptions,
  type PurchaseOptions,
  type RetryOptions,
  type RetrySetting,
  type RouteOptions,
  type RuntimeOptions,
  type ScheduleOptions,
  type SignalWaitOptions,
  type SimilarOptions,
  type SpawnOptions,
  type StartTaskOptions,
  type StepOptions,
  type StopOptions,
  type SubmitOptions,
  type PipelineEventsOptions,
  type PublishOptions,
  type ReceiveOptions,
  type SupervisedOptions,
  type SupervisorSettings,
  type SwarmOptions,
  type TaskDefinitionOptions,
  type Verdict,
  type WaitOptions,
  type WorkerOptions,
  type WorkerProcessOptions,
  type WorkTelemetry,
} from '../src/index.ts'
import type { CrashSweep, TestRuntimeOptions } from '../src/testing/index.ts'
import { virtualRuntime } from './virtual-runtime.ts'

type Optional<T> = { [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? K : never }[keyof T]
/** Every optional field of a type, given as undefined. */
type Blank<T> = { readonly [K in Optional<T>]: undefined }
type Accepts<T> = Blank<T> extends Partial<T> ? true : Optional<T>

type Schema = TaskDefinitionOptions<string, z.ZodNumber, undefined>
/** Every type of options that a program hands in. */
interface Given {
  agent: AgentOptions<string, z.ZodNumber, z.ZodNumber>
  agentSettings: AgentSettings
  approval: ApprovalOptions
  approvalFilter: ApprovalFilter
  branches: BranchesOptions
  budget: BudgetOptions
  budgetFilter: BudgetFilter
  cancelFilter: CancelFilter
  cancelMany: CancelManyOptions
  retryFilter: RetryFilter
  retryMany: RetryManyOptions
  childWait: ChildWaitOptions
  client: ClientOptions
  clientSettings: ClientSettings
  pipelineEvents: PipelineEventsOptions
  prune: PruneOptions
  composition: CompositionOptions<string>
  continueBudget: ContinueOptions
  cron: CronTiming
  deploy: DeployCheck
  drift: DriftOptions
  edge: EdgeOptions<unknown, unknown, unknown>
  evaluation: EvaluationOptions
  evaluationPage: EvaluationPage
  evaluationSettings: EvaluationSettings
  exec: ExecOptions
  follow: FollowOptions
  fork: ForkOptions
  graph: GraphSettings
  heartbeat: Heartbeat
  held: HeldAgentOptions
  interval: IntervalTiming
  leaseHeartbeat: LeaseHeartbeat
  list: ListFilter
  node: NodeOptions
  rateLimit: RateLimit
  publish: PublishOptions
  receive: ReceiveOptions
  replay: ReplayOptions
  retry: RetryOptions
  retrySetting: RetrySetting
  route: RouteOptions
  runtime: RuntimeOptions
  schedule: ScheduleOptions
  signalWait: SignalWaitOptions
  similar: SimilarOptions
  spawn: SpawnOptions
  startTask: StartTaskOptions
  step: StepOptions
  stop: StopOptions
  submit: SubmitOptions
  supervised: SupervisedOptions
  supervisor: SupervisorSettings
  swarm: SwarmOptions
  sweep: CrashSweep<unknown>
  task: Schema
  telemetry: WorkTelemetry
  testRuntime: TestRuntimeOptions
  usage: Usage
  verdict: Verdict
  wait: WaitOptions
  worker: WorkerProcessOptions
  workers: WorkerOptions
}

const submit: Blank<SubmitOptions> = {
  lane: undefined,
  taskId: undefined,
  idempotencyKey: undefined,
  client: undefined,
  model: undefined,
  tools: undefined,
  labels: undefined,
  dueAt: undefined,
  delayMs: undefined,
  timeoutMs: undefined,
  tokens: undefined,
  cost: undefined,
  budget: undefined,
  agreement: undefined,
  onReject: undefined,
}
const step: Blank<StepOptions> = {
  input: undefined,
  timeoutMs: undefined,
  retry: undefined,
  inDoubt: undefined,
  verify: undefined,
  rateLimited: undefined,
}
const approval: Blank<ApprovalOptions> = {
  mode: undefined,
  maxRetries: undefined,
  timeoutMs: undefined,
  onReject: undefined,
  onTimeout: undefined,
}
const { idempotencyKey: _, client: __, agreement: ___, onReject: ____, ...forChildren } = submit
const spawn: Blank<SpawnOptions> = { ...forChildren, onParentEnd: undefined, whenFull: undefined }
const exec: Blank<ExecOptions> = {
  cwd: undefined,
  env: undefined,
  input: undefined,
  timeoutMs: undefined,
  killGraceMs: undefined,
  maxBufferBytes: undefined,
  stdio: undefined,
  signal: undefined,
}
const common = {
  config: undefined,
  durability: undefined,
  acceptLoss: undefined,
  token: undefined,
  thread: undefined,
  onFailure: undefined,
}

describe('an option that is undefined is absent', () => {
  test('every optional field of every type of options takes undefined', () => {
    type Refusing = { [K in keyof Given as Accepts<Given[K]> extends true ? never : K]: Accepts<Given[K]> }
    expectTypeOf<keyof Refusing>().toBeNever()
  })

  const child = defineTask({ type: 'child', input: z.number() }, (_ctx, n) => n + 1)
  const task = defineTask(
    {
      type: 'task',
      input: z.number(),
      output: undefined,
      lane: undefined,
      timeoutMs: undefined,
      profile: undefined,
      limits: undefined,
      model: 'big',
      tools: undefined,
      budget: undefined,
      retry: { attempts: 2, backoff: { initialMs: undefined, factor: 1, maxMs: undefined, jitter: 0 } },
      replay: undefined,
      errors: undefined,
      oversight: 'supervised',
    },
    async (ctx, n) => {
      const doubled = await ctx.step('double', step, () => n * 2)
      await ctx.step('retried', { retry: { attempts: 2, backoff: undefined } }, () => 1)
      const next = await ctx.call('child', child, doubled, spawn)
      const raced = await ctx.race(
        'race',
        { a: (branch) => branch.step('in race', () => next) },
        {
          timeoutMs: undefined,
        },
      )
      ctx.charge({ tokens: 3, money: undefined, cost: undefined })
      const signal = await ctx.waitForSignal('go', { signal: undefined, timeoutMs: undefined })
      const given = await ctx.requestApproval('publish', raced.value, approval)
      return { value: raced.value, signal, asked: given.asked, mode: 'by' in given }
    },
  )

  const command = defineTask({ type: 'command', input: z.string() }, (ctx, text) =>
    ctx.exec('echo', [text], exec),
  )

  test('in a handler, a definition, a submission and a verdict', async () => {
    const { runtime, elapse } = await virtualRuntime({
      tasks: [task, child, command],
      workers: { count: undefined, capacity: undefined, types: undefined, ids: undefined },
      evaluation: { domains: undefined, driftThreshold: undefined },
      config: { maxInFlightPerWorker: undefined, quotaConfig: undefined },
    })
    const receipt = await runtime.submit(task, 4, submit)
    const plain = await runtime.submit(task, 5)
    const running = await untilWaiting(runtime, receipt, elapse)
    const other = await untilWaiting(runtime, plain, elapse)
    expect(Object.keys(running)).toEqual(Object.keys(other))
    expect(running).toMatchObject({ lane: 'normal', model: 'big' })
    await runtime.signal(receipt, 'go', 'yes')
    await elapse(0)
    const filter: Blank<ApprovalFilter> = {
      task: undefined,
      children: undefined,
      limit: undefined,
      cursor: undefined,
    }
    const [request] = (await runtime.approvals.list(filter)).approvals
    // The mode of the task type, not the one that a call without a mode of either kind has.
    expect(request).toMatchObject({ mode: 'supervised' })
    const verdict: Blank<Verdict> = { by: undefined, feedback: undefined, value: undefined }
    await runtime.approvals.approve(request?.approvalId ?? '', verdict)
    expect(await runtime.result(receipt, { signal: undefined, timeoutMs: undefined })).toEqual({
      value: 9,
      signal: 'yes',
      asked: true,
      mode: false,
    })
    const again: Blank<ForkOptions> = {
      taskId: undefined,
      idempotencyKey: undefined,
      budget: undefined,
      fromStep: undefined,
      edits: undefined,
    }
    expect(await runtime.fork(receipt, again)).toMatchObject({ accepted: true })
    const page: Blank<ListFilter> = {
      states: undefined,
      types: undefined,
      lanes: undefined,
      parent: undefined,
      client: undefined,
      labels: undefined,
      values: undefined,
      limit: undefined,
      cursor: undefined,
    }
    expect((await runtime.list(page)).tasks).toHaveLength(5)
    const echoed = await runtime.submit(command, 'said')
    expect(await runtime.result(echoed)).toMatchObject({ code: 0, stdout: 'said\n' })
    expect(await runtime.cancel(plain, { reason: undefined })).toBe(true)
  })

  test('in schedules, clients, evaluations, swarms, leases and routes', async () => {
    const { runtime } = await virtualRuntime({ tasks: [task, child] })
    const { lane, client, model, tools, labels, timeoutMs, tokens, cost, budget, agreement } = submit
    const schedule: Blank<ScheduleOptions> = {
      agreement,
      lane,
      client,
      model,
      tools,
      labels,
      timeoutMs,
      tokens,
      cost,
      budget,
      catchUp: undefined,
      graceMs: undefined,
      overlap: undefined,
    }
    const cron: Blank<CronTiming> = { timeZone: undefined, everyMs: undefined }
    const interval: Blank<IntervalTiming> = { timeZone: undefined, cron: undefined }
    expect(await runtime.schedules.put('a', { cron: '0 9 * * *', ...cron }, task, 1, schedule)).toEqual({
      ...(await runtime.schedules.put('b', { cron: '0 9 * * *' }, task, 1)),
      name: 'a',
    })
    expect(
      await runtime.schedules.put('c', { everyMs: 5_000, ...interval }, task, 1, schedule),
    ).toMatchObject({
      lane: 'batch',
    })
    await runtime.credits.purchase('bob', 5, {
      key: undefined,
      note: undefined,
    } satisfies Blank<PurchaseOptions>)
    expect(await runtime.credits.entries('bob', { after: undefined, limit: undefined })).toHaveLength(2)
    await runtime.clients.set('ada', { credits: 5, tier: undefined })
    await runtime.clients.set('ada', { credits: undefined, tier: undefined } satisfies Blank<ClientSettings>)
    expect(await runtime.clients.list({ after: undefined, limit: undefined })).toMatchObject([
      { credits: 5 },
      { credits: 1_005 },
    ])
    const evaluation: Blank<EvaluationOptions> = {
      entry: undefined,
      maxRevisions: undefined,
      domain: undefined,
      weights: undefined,
      taskId: undefined,
      key: undefined,
      strict: undefined,
    }
    await runtime.evaluations.record('agent', { quality: 1, errors: undefined }, evaluation)
    expect(await runtime.evaluations.drift('agent', { threshold: undefined })).toMatchObject({
      drifted: false,
    })

    const share = { cpuTimeUs: undefined, memoryBytes: 5 }
    const swarm = await runtime.createSwarm('agents', {
      profile: undefined,
      limits: undefined,
      name: undefined,
      maxAgents: undefined,
      sharedBudget: { totalCpuTimeUs: undefined, totalMemoryBytes: 100 },
      threshold: undefined,
    } satisfies Blank<SwarmOptions> | SwarmOptions)
    const held: Blank<HeldAgentOptions> = {
      lane: undefined,
      share: undefined,
      labels: undefined,
      abortController: undefined,
      timeout: undefined,
      measure: undefined,
    }
    const agent = await swarm.spawnAgent('one', { ...held, share })
    await agent.heartbeat({
      progress: 0.5,
      computeUs: 7,
      errorRate: undefined,
      saturation: undefined,
      memoryUsed: 3,
    })
    await agent.heartbeat({ progress: undefined, computeUs: undefined, memoryUsed: undefined })
    expect(agent.telemetry()).toMatchObject({ progress: 0.5, computeUs: 7, memoryBytes: 3 })
    await agent.release()
    const verdict = await runtime.route(
      'route',
      { latencyMs: 5, computeUs: undefined },
      { profile: undefined },
    )
    expect(verdict).toMatchObject({ admitted: true, vector: { compute: 0 } })
  })

  test('in the options of a program, and in what a handler throws', async () => {
    const logger = false as const
    const more: Blank<Pick<RuntimeOptions, 'workers' | 'signals' | 'start' | 'evaluation' | 'environment'>> =
      {
        workers: undefined,
        signals: undefined,
        start: undefined,
        evaluation: undefined,
        environment: undefined,
      }
    await using runtime = await createRuntime({
      store: 'sqlite::memory:',
      tasks: [child],
      telemetry: false,
      logger,
      ...common,
      ...more,
      thread: false,
    })
    expect(await runtime.result(await runtime.submit(child, 1))).toBe(2)
    await using client = await createClient({
      store: 'sqlite::memory:',
      logger,
      evaluation: undefined,
      trace: undefined,
      tasks: undefined,
      ...common,
      thread: false,
    })
    expect(await client.list({})).toEqual({ tasks: [] })
    const refusal = new RateLimited({
      model: 'big',
      tool: undefined,
      client: undefined,
      labels: undefined,
      retryAfterMs: 5,
    })
    expect(refusal.quotaKeys).toEqual(['model:big'])
  })
})

async function untilWaiting(
  runtime: Awaited<ReturnType<typeof virtualRuntime>>['runtime'],
  task: Parameters<typeof runtime.status>[0],
  elapse: (ms: number) => Promise<void>,
) {
  for (let n = 0; n < 10_000; n += 1) {
    const status = await runtime.status(task)
    if (status?.state === 'waiting' && status.waits.some(({ key }) => key === 'go')) return status
    await elapse(0)
  }
  throw new Error('the task never came to its wait')
}
