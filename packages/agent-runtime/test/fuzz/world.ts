import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encode } from '@ku0/agent-runtime-core'
import { verifyStore } from '@ku0/agent-runtime-persistence'
import {
  createRuntime,
  defineTask,
  type Receipt,
  type Runtime,
  type Schema,
  type TaskDefinition,
} from '../../src/index.ts'

const any: Schema = { '~standard': { version: 1, vendor: 'fuzz', validate: (value) => ({ value }) } }

const tasks = [
  defineTask({ type: 'echo', input: any, retry: { attempts: 1 } }, (_, input) => input),
  defineTask({ type: 'fails', input: any, retry: { attempts: 1 } }, () => {
    throw new Error('as it is to')
  }),
  defineTask({ type: 'steps', input: any }, async (ctx) => [
    await ctx.step('one', () => 1),
    await ctx.step('two', () => 2),
  ]),
  defineTask({ type: 'waits', input: any }, async (ctx) => {
    await ctx.requestApproval('approval', { draft: 1 }, { mode: 'supervised', maxRetries: 100 })
    await ctx.waitForSignal('a')
  }),
]

/** A real runtime on a file, with a task in each state, for calls of all kinds. */
export class World implements AsyncDisposable {
  readonly runtime: Runtime
  readonly #folder: string

  private constructor(runtime: Runtime, folder: string) {
    this.runtime = runtime
    this.#folder = folder
  }

  static async make(
    options: { readonly thread?: boolean; readonly tasks?: readonly TaskDefinition[] } = {},
  ): Promise<World> {
    const folder = mkdtempSync(join(tmpdir(), 'ku0-fuzz-'))
    const runtime = await createRuntime({
      store: `sqlite:${join(folder, 'it.db')}`,
      tasks: [...tasks, ...(options.tasks ?? [])],
      config: { maxPayloadBytes: 100_000, maxInlineBytes: 1_000 },
      durability: 'normal',
      thread: options.thread ?? false,
      logger: false,
      telemetry: false,
    })
    const world = new World(runtime, folder)
    await runtime.submit('steps', null, { taskId: 'ended' })
    await runtime.submit('fails', null, { taskId: 'failed' })
    await runtime.submit('waits', null, { taskId: 'parked', budget: { tokens: 100, soft: 0.5 } })
    await runtime.submit('echo', null, { taskId: 'delayed', delayMs: 3_600_000 })
    await runtime.result('ended')
    return world
  }

  /** The first few of a following that may never end. */
  async someOf(items: AsyncIterable<unknown>): Promise<void> {
    const iterator = items[Symbol.asyncIterator]()
    for (let taken = 0; taken < 3; taken += 1) {
      const next = iterator.next()
      const first = await Promise.race([next, turns().then(() => 'nothing comes' as const)])
      if (first === 'nothing comes') {
        // A following that is left at its next item ends once it has that: its runtime's end at the latest.
        next.catch(() => {})
        return
      }
      if (first.done === true) return
    }
    await iterator.return?.()
  }

  async pending(): Promise<never> {
    const { approvals } = await this.runtime.approvals.list()
    return (approvals[0]?.approvalId ?? 'nobody:1') as never
  }

  async keepsInput(answer: unknown, input: unknown, options: unknown): Promise<void> {
    const receipt = answer as Receipt
    if (!receipt.accepted || receipt.deduplicated) return
    const status = await this.runtime.status(receipt)
    assert.deepEqual(textOf(status?.input), textOf(input))
    const { labels, client, model, tools } = (options ?? {}) as Record<string, unknown>
    assert.deepEqual({ ...status?.labels }, { ...(labels as object) })
    assert.deepEqual([status?.client, status?.model], [client, model])
    if (tools !== undefined) assert.deepEqual(status?.tools, tools)
  }

  async keepsEdits(answer: unknown, options: unknown): Promise<void> {
    const receipt = answer as Receipt
    const { edits, fromStep } = (options ?? {}) as { edits?: Record<string, unknown>; fromStep?: string }
    if (!receipt.accepted || receipt.deduplicated || edits === undefined || fromStep !== undefined) return
    // A fork of a task that waits for a person does so, too.
    if (!Object.keys(edits).some((key) => key === 'one' || key === 'two')) return
    const output = (await this.runtime.result(receipt)) as unknown[]
    for (const [at, key] of ['one', 'two'].entries())
      if (Object.hasOwn(edits, key)) assert.deepEqual(textOf(output[at]), textOf(edits[key]))
  }

  async keepsVerdict(answer: unknown, verdict: unknown): Promise<void> {
    const { approvalId } = answer as { approvalId: string }
    const entry = (await this.runtime.approvals.trail('parked')).find((it) => it.approvalId === approvalId)
    const { by, feedback, value } = (verdict ?? {}) as Record<string, unknown>
    assert.deepEqual([entry?.by, entry?.feedback], [by, feedback])
    if (value !== undefined) assert.deepEqual(textOf(entry?.value), textOf(value))
  }

  async keepsSchedule(name: string, input: unknown): Promise<void> {
    assert.deepEqual(textOf((await this.runtime.schedules.get(name))?.input), textOf(input))
  }

  /** It works as ever: a task goes through, and the store is what was written. */
  async isWell(): Promise<void> {
    const probe = await this.runtime.submit('steps', null, { lane: 'interactive' })
    assert.deepEqual(await this.runtime.result(probe), [1, 2])
    const url = `sqlite:${join(this.#folder, 'it.db')}`
    const { faults } = await verifyStore(url)
    assert.deepEqual(faults, [])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime.stop({ drain: false })
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function textOf(value: unknown): string {
  return encode(value, { what: 'a value' })
}

/** For what comes without waiting for anything but its turn. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
