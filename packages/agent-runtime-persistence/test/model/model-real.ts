import { type ExecutionConfig, type ExecutionStore } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import {
  type ModelLease,
  type ModelTask,
  ReferenceModel,
  Scene,
  type StoreSnapshot,
} from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import fc from 'fast-check'
import { expect } from 'vitest'
import { nodeDigest } from '../helpers/scratch-folder.ts'

const settings = {
  leaseTtlMs: 1_000,
  heartbeatIntervalMs: 300,
  queueDepthLimit: 4,
  batchBackpressureThreshold: 2,
  maxDelayed: 3,
  maxCrashes: 3,
  circuitOpenMs: 700,
  maxEvaluationsKept: 3,
  maxEvaluatedAgents: 2,
  quotaConfig: {
    models: { big: { maxInFlight: 2, perWindow: 3, onExceeded: 'defer' } },
    clients: { ada: { maxInFlight: 1 } },
    labels: { team: { alpha: { tokensPerWindow: 10 } } },
    defaults: {
      tool: { tokensPerWindow: 12, onExceeded: 'defer' },
      labels: { team: { perWindow: 2 } },
    },
    windowMs: 2_000,
  },
} as const

export const { config } = parseExecutionConfig(settings)

/** Stores with shares, and room for queues. Quotas would hold clients back, which the model does not know. */
export const sharingConfigs = (
  [
    { shares: {} },
    { shares: { tierPolicy: 'weighted', ledger: true } },
    { shares: { ledger: true }, agingMs: 400 },
    { shares: { tierPolicy: 'weighted', placement: 'zero' }, agingMs: 1_000 },
    { shares: { keying: 'enqueue' } },
  ] as const
).map((given) => {
  const { quotaConfig: _, ...others } = settings
  const limits = { queueDepthLimit: 12, batchBackpressureThreshold: 10, maxDelayed: 6 }
  return parseExecutionConfig({ ...others, ...limits, ...given }).config
})

/** What happened in all runs together: a property that nothing interesting happened in proves nothing. */
export const seen = new Map<string, number>()
export const count = (what: string, by = 1) => seen.set(what, (seen.get(what) ?? 0) + by)

type SceneSetting = NonNullable<ConstructorParameters<typeof Scene>[3]>

/** The store under test, as far as it corresponds to the model by sequence and dispatch number. */
export class Real {
  scene!: Scene
  readonly taskIds = new Map<number, string>()
  readonly leaseIds = new Map<number, string>()
  private readonly reopen: () => Promise<ExecutionStore>
  private readonly setting: SceneSetting
  readonly environment
  private claimed = 0
  readonly config: ExecutionConfig
  before: StoreSnapshot | undefined
  commands = 0

  constructor(
    open: (config: ExecutionConfig, environment: Real['environment']) => Promise<ExecutionStore>,
    given: ExecutionConfig = config,
    quiet?: SceneSetting['quiet'],
  ) {
    this.setting = { digest: nodeDigest, ...(quiet === undefined ? {} : { quiet }) }
    this.config = given
    this.environment = { ...createVirtualEnvironment('model'), digest: nodeDigest }
    this.reopen = () => open(given, this.environment)
  }

  async open(): Promise<void> {
    this.scene = new Scene(await this.reopen(), this.config, this.environment.clock, this.setting)
    this.claimed = 0
    await this.scene.idle()
  }

  /** The claims since the last look. */
  takeClaims(): Scene['claims'] {
    const fresh = this.scene.claims.slice(this.claimed)
    this.claimed = this.scene.claims.length
    for (const { dispatch, leaseId } of fresh) this.leaseIds.set(dispatch, leaseId)
    return fresh
  }

  taskId(task: ModelTask | undefined): string {
    return task === undefined ? 'nobody' : (this.taskIds.get(task.sequence) ?? '')
  }

  /** A lease id by dispatch number; one that nobody was ever given is made up. */
  leaseId(lease: ModelLease | undefined): string {
    return (
      (lease === undefined ? undefined : this.leaseIds.get(lease.dispatch)) ??
      this.taskIds.get(1) ??
      'no lease'
    )
  }
}

/** Plays a life on a store and on the reference model, until the store is closed: it does the same, and once every task has ended nothing is held. */
export async function playLife(
  real: Real,
  given: ExecutionConfig,
  life: Iterable<fc.AsyncCommand<ReferenceModel, Real>>,
): Promise<void> {
  await real.open()
  try {
    await fc.asyncModelRun(
      () => ({ model: new ReferenceModel(given, real.environment.clock.now()), real }),
      life,
    )
    expect(await heldAfterAll(real)).toEqual([])
  } finally {
    await real.scene.store.close()
  }
}

/** Quotas that something holds once every task has ended. */
async function heldAfterAll({ scene }: Real): Promise<readonly unknown[]> {
  const { tasks } = await scene.read({
    kind: 'tasks',
    filter: { states: ['queued', 'running', 'waiting'], limit: 1_000 },
  })
  for (const { taskId } of tasks) await scene.cancel(taskId)
  const { quotas } = await scene.read({ kind: 'stats' })
  return quotas.filter(({ queued, running }) => queued !== 0 || running !== 0)
}
