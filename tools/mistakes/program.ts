import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from '../../packages/agent-runtime/node_modules/zod/index.js'
import { createRuntime, defineTask, type Runtime } from '../../packages/agent-runtime/src/index.ts'
import type { TriedMistake } from './mistake.ts'

const greet = defineTask({ type: 'greet', input: z.object({ name: z.string() }) }, (_, { name }) => name)
const waits = defineTask(
  { type: 'waits', input: z.null(), signals: { go: z.object({ by: z.string() }) } },
  (ctx) => ctx.waitForSignal('go'),
)
const asks = defineTask({ type: 'asks', input: z.null() }, (ctx) => ctx.requestApproval('plan', 'it'))

/** Calls with anything, as a program in JavaScript makes them. */
type Loose = (...given: unknown[]) => unknown
const create = createRuntime as unknown as Loose
const define = defineTask as unknown as Loose

async function withRuntime(
  use: (runtime: Record<string, Loose>, typed: Runtime) => unknown,
): Promise<unknown> {
  await using runtime = await createRuntime({
    store: 'sqlite::memory:',
    tasks: [greet, waits, asks],
    logger: false,
    strict: false,
  })
  return await use(runtime as unknown as Record<string, Loose>, runtime)
}

/** A refusal is returned, not thrown. */
const messageOf = (receipt: unknown) => (receipt as { message?: string } | undefined)?.message

const startOf = (code: string, tried: () => unknown) => ({ code, tried })

const definitions: readonly TriedMistake[] = [
  {
    what: "another library's name for tries",
    ...startOf("defineTask({ type: 'a', input, retries: 3 }, f)", () =>
      define({ type: 'a', input: z.null(), retries: 3 }, () => 1),
    ),
  },
  {
    what: 'a type where a schema belongs',
    ...startOf("defineTask({ type: 'a', input: { name: 'string' } }, f)", () =>
      define({ type: 'a', input: { name: 'string' } }, () => 1),
    ),
  },
  {
    what: 'a schema in place of schemas by name',
    ...startOf("defineTask({ type: 'a', input, signals: z.string() }, f)", () =>
      define({ type: 'a', input: z.null(), signals: z.string() }, () => 1),
    ),
  },
]

const starts: readonly TriedMistake[] = [
  {
    what: 'a runtime without a store',
    ...startOf('createRuntime({ tasks })', () => create({ tasks: [greet] })),
  },
  {
    what: 'a folder that does not exist',
    ...startOf("createRuntime({ store: 'sqlite:no-such-folder/a.db', tasks })", () =>
      create({ store: 'sqlite:no-such-folder/a.db', tasks: [greet], logger: false }),
    ),
  },
  {
    what: 'a file that is no database',
    ...startOf("createRuntime({ store: 'sqlite:notes.txt', tasks })", async () => {
      const folder = mkdtempSync(join(tmpdir(), 'ku0-mistakes-'))
      const file = join(folder, 'notes.txt')
      writeFileSync(file, 'Buy milk, and then write the agent that buys the milk.\n'.repeat(99))
      try {
        return await create({ store: `sqlite:${file}`, tasks: [greet], logger: false })
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }),
  },
  {
    what: "another library's name for slots",
    ...startOf('createRuntime({ store, tasks, concurrency: 4 })', () =>
      create({ store: 'sqlite::memory:', tasks: [greet], concurrency: 4 }),
    ),
  },
  {
    what: 'a setting with a typing error',
    ...startOf('createRuntime({ store, tasks, config: { leaseTtl: 30 } })', () =>
      create({ store: 'sqlite::memory:', tasks: [greet], config: { leaseTtl: 30 } }),
    ),
  },
  {
    what: 'two task types of one name',
    ...startOf('createRuntime({ store, tasks: [greet, greet] })', () =>
      create({
        store: 'sqlite::memory:',
        tasks: [greet, define({ type: 'greet', input: z.null() }, () => 1)],
      }),
    ),
  },
]

const submissions: readonly TriedMistake[] = [
  {
    what: 'the name of a type that is not defined',
    ...startOf("runtime.submit('great', { name: 'Ada' })", () =>
      withRuntime(async (it) => messageOf(await it['submit']?.('great', { name: 'Ada' }))),
    ),
  },
  {
    what: 'an input that does not fit',
    ...startOf("runtime.submit('greet', { name: 5 })", () =>
      withRuntime(async (it) => messageOf(await it['submit']?.('greet', { name: 5 }))),
    ),
  },
  {
    what: "another library's name for a delay",
    ...startOf('runtime.submit(greet, input, { delay: 5 })', () =>
      withRuntime((it) => it['submit']?.(greet, { name: 'a' }, { delay: 5 })),
    ),
  },
  {
    what: 'a date in words',
    ...startOf("runtime.submit(greet, input, { dueAt: 'tomorrow' })", () =>
      withRuntime((it) => it['submit']?.(greet, { name: 'a' }, { dueAt: 'tomorrow' })),
    ),
  },
  {
    what: 'an id that is taken',
    ...startOf("runtime.submit(greet, input, { taskId: 'a' }) // twice", () =>
      withRuntime(async (it) => {
        await it['submit']?.(greet, { name: 'a' }, { taskId: 'a' })
        return it['submit']?.(greet, { name: 'a' }, { taskId: 'a' })
      }),
    ),
  },
  {
    what: 'an idempotency key for other work',
    ...startOf("runtime.submit(greet, other, { idempotencyKey: 'a' })", () =>
      withRuntime(async (it) => {
        await it['submit']?.(greet, { name: 'a' }, { idempotencyKey: 'a' })
        return it['submit']?.(greet, { name: 'b' }, { idempotencyKey: 'a' })
      }),
    ),
  },
  {
    what: 'a function inside the input',
    ...startOf("runtime.submit(greet, { name: 'Ada', then: () => 1 })", () =>
      withRuntime((it) => it['submit']?.(greet, { name: 'Ada', done: () => 1 })),
    ),
  },
  {
    what: 'a submission after the end',
    ...startOf('await runtime.close(); runtime.submit(greet, input)', () =>
      withRuntime(async (it, runtime) => {
        await runtime.close()
        return it['submit']?.(greet, { name: 'a' })
      }),
    ),
  },
  {
    what: 'the result of an unknown id',
    ...startOf("runtime.result('nobody')", () => withRuntime((it) => it['result']?.('nobody'))),
  },
  {
    what: 'a result that does not come in time',
    ...startOf('runtime.result(receipt, { timeoutMs: 50 })', () =>
      withRuntime(async (it, runtime) =>
        it['result']?.(await runtime.submit(waits, null), { timeoutMs: 50 }),
      ),
    ),
  },
]

const verdicts: readonly TriedMistake[] = [
  {
    what: 'a signal to an unknown task',
    ...startOf("runtime.signal('nobody', 'go')", () => withRuntime((it) => it['signal']?.('nobody', 'go'))),
  },
  {
    what: 'a signal to a task that has ended',
    ...startOf("runtime.signal(done, 'go')", () =>
      withRuntime(async (it, runtime) => {
        const done = await runtime.submit(greet, { name: 'a' })
        await runtime.result(done)
        return it['signal']?.(done, 'go')
      }),
    ),
  },
  {
    what: 'a signal that is not declared',
    ...startOf("runtime.signal(id, 'goo', value)", () =>
      withRuntime(async (it, runtime) => it['signal']?.(await runtime.submit(waits, null), 'goo', 1)),
    ),
  },
  {
    what: 'a value that a signal does not have',
    ...startOf("runtime.signal(id, 'go', { by: 5 })", () =>
      withRuntime(async (it, runtime) => it['signal']?.(await runtime.submit(waits, null), 'go', { by: 5 })),
    ),
  },
  {
    what: 'an approval id that is none',
    ...startOf("runtime.approvals.approve('plan')", () =>
      withRuntime((_, runtime) => runtime.approvals.approve('plan')),
    ),
  },
  {
    what: 'a second verdict',
    ...startOf('runtime.approvals.reject(approvalId) // after approve', () =>
      withRuntime(async (_, runtime) => {
        const receipt = await runtime.submit(asks, null)
        for await (const { type } of runtime.events(receipt)) if (type === 'task.waiting') break
        const [open] = (await runtime.approvals.list()).approvals
        await runtime.approvals.approve(open?.approvalId ?? '', { by: 'Ada' })
        return runtime.approvals.reject(open?.approvalId ?? '')
      }),
    ),
  },
  {
    what: 'a cancel of everything',
    ...startOf('runtime.cancelMany({})', () => withRuntime((it) => it['cancelMany']?.({}))),
  },
]

export const programMistakes: readonly TriedMistake[] = [
  ...definitions,
  ...starts,
  ...submissions,
  ...verdicts,
]
