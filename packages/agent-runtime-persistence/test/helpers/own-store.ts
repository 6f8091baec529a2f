import assert from 'node:assert/strict'
import {
  type Claim,
  type ExecutionConfigInput,
  type ExecutionStore,
  type LeaseNotice,
  type StoredEvent,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { takeSnapshot, violationsIn } from '@ku0/agent-runtime-conformance'
import { onTestFinished } from 'vitest'
import { openStore } from '../../src/index.ts'
import { nodeDigest } from './scratch-folder.ts'
import { besideTheDead, closedStoreFaults } from './closed-store.ts'

/** A store of this process, on real time, that keeps what it hears. */
export class OwnStore {
  readonly store: ExecutionStore
  readonly claims: Claim[] = []
  readonly notices: LeaseNotice[] = []
  readonly events: StoredEvent[] = []
  private credit = 0
  private wake: (() => void)[] = []

  constructor(store: ExecutionStore) {
    this.store = store
    store.listen({
      claimed: (claims) => this.hear(() => this.claims.push(...claims)),
      noticed: (notices) => this.hear(() => this.notices.push(...notices)),
      published: (events) => this.hear(() => this.events.push(...events)),
    })
  }

  static async open(path: string, config: ExecutionConfigInput = {}): Promise<OwnStore> {
    const store = await openStore(`sqlite:${path}`, {
      thread: false,
      durability: 'normal',
      config: parseExecutionConfig(config).config,
    })
    onTestFinished(() => store.close())
    return new OwnStore(store)
  }

  async worker(workerId: string, capacity: number): Promise<void> {
    await this.store.write({ kind: 'registerWorkers', workers: [{ workerId, capacity, types: ['*'] }] })
    this.credit = capacity
    this.store.demand(workerId, capacity)
  }

  async submit(count: number): Promise<readonly string[]> {
    const receipts = await this.store.write({
      kind: 'submit',
      tasks: Array.from({ length: count }, () => ({ type: 'work', lane: 'normal', input: '1' }) as const),
    })
    return receipts.map(({ taskId }) => taskId)
  }

  async complete({ leaseId, workerId }: Claim): Promise<string> {
    const settlement = { as: 'completed', output: '"own"' } as const
    const fenced = await this.store.write({ kind: 'settle', leaseId, settlement })
    this.store.demand(workerId, ++this.credit)
    return fenced
  }

  /** Waits for something the store will say. */
  async until(condition: () => boolean, what: string): Promise<void> {
    const deadline = AbortSignal.timeout(100_000)
    while (!condition()) {
      if (deadline.aborted) throw new Error(`waited in vain for ${what}`)
      await new Promise<void>((wake) => {
        this.wake.push(wake)
        deadline.addEventListener('abort', () => wake(), { once: true })
      })
    }
  }

  private hear(keep: () => void): void {
    keep()
    for (const wake of this.wake.splice(0)) wake()
  }
}

/** What a store says of itself and what its tables hold: nothing in it contradicts anything. Closes it. */
export async function clean(own: OwnStore, path: string, given: ExecutionConfigInput = {}): Promise<void> {
  assert.deepEqual(await violationsOf(own, path, given), [])
}

/** The same where a process died a moment ago, which nobody may have found out yet. */
export async function cleanBesideTheDead(
  own: OwnStore,
  path: string,
  given: ExecutionConfigInput = {},
): Promise<void> {
  const found = await violationsOf(own, path, given)
  assert.deepEqual(besideTheDead(found), [])
}

async function violationsOf(own: OwnStore, path: string, given: ExecutionConfigInput): Promise<string[]> {
  const { config } = parseExecutionConfig(given)
  const said = violationsIn(await takeSnapshot(own.store), { config, digest: nodeDigest })
  await own.store.close()
  return [...said.map(String), ...(await closedStoreFaults(path, config))]
}
