// A process that works on a store under leases that it is told of. In the first attempt of a task it says where it is, for its parent to stop it there; when
// it is told to go on it tries everything that a holder may do, and says what became of it. In a later attempt it waits in the same step, if it is to
// meet who was stopped, until that one has had its say.
import { createInterface } from 'node:readline'
import { createRuntime, defineTask } from '@ku0/agent-runtime'
import {
  type Claim,
  type ExecutionConfigInput,
  type ExecutionStore,
  type Write,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import { z } from 'zod'
import { openLedger } from '../work/ledger.ts'
import { type ZombieEnd, type ZombieTold } from './zombie.ts'

const [folder = '', settings = '{}', capacity = '1'] = process.argv.slice(2)
const ledger = openLedger(`${folder}/ledger.txt`, { sync: false })
const say = (line: string) => void process.stdout.write(`${line}\n`)
/** Lines that its parent has said, or will. */
const told = new Map<string, PromiseWithResolvers<void>>()
const leaseIds = new Map<string, string>()

const task = defineTask(
  { type: 'zombie', input: z.object({ meets: z.boolean() }) },
  async (ctx, { meets }) => {
    const { taskId, attempt, fencingToken } = ctx
    const step = (key: string, then?: () => Promise<void>) =>
      ctx.step(key, async ({ idempotencyKey }) => {
        await ledger.witness({ taskId, stepKey: key, attempt, fencingToken, idempotencyKey })
        await then?.()
        return fencingToken
      })
    const before = await step('before')
    if (attempt > 1) {
      const held = await step('held', async () => {
        if (!meets) return
        say(`again ${taskId}`)
        await hear(`release ${taskId}`)
      })
      const end: ZombieEnd = { before, held, after: await step('after'), by: fencingToken }
      await ctx.emit(fencingToken)
      return end
    }
    let writes: ZombieTold['writes'] = {}
    const held = step('held', async () => {
      say(`in ${taskId}`)
      await hear(`go ${taskId}`)
      writes = await writeBlindly(leaseIds.get(`${taskId} ${fencingToken}`) ?? '')
    })
    const outcome: ZombieTold = {
      token: fencingToken,
      step: await nameOf(held),
      nextStep: await nameOf(step('after')),
      heartbeat: await nameOf(ctx.heartbeat({ progress: 1 })),
      output: await nameOf(ctx.emit(fencingToken)),
      checkpoint: await nameOf(ctx.checkpoint(fencingToken)),
      command: await nameOf(ctx.exec('sh', ['-c', 'printf "\\na command;" >> "$0"', `${folder}/ledger.txt`])),
      signal: ctx.signal.aborted ? (ctx.signal.reason as Error).name : 'none',
      writes,
    }
    say(`told ${taskId} ${JSON.stringify(outcome)}`)
    return { before, held: fencingToken, after: fencingToken, by: fencingToken } satisfies ZombieEnd
  },
)

const given = JSON.parse(settings) as ExecutionConfigInput
const { config } = parseExecutionConfig(given)
const store: ExecutionStore = await openStore(`sqlite:${folder}/runtime.db`, { config })
store.listen({ claimed: (claims) => claims.forEach(remember) })
const runtime = await createRuntime({
  strict: false,
  store,
  tasks: [task],
  config: given,
  workers: { count: 1, capacity: Number(capacity) },
  logger: false,
})
say('open')

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'end') break
  toldOf(line).resolve()
}
// Its parent holds the other end still.
process.stdin.destroy()
await runtime.stop({ graceMs: 1_000 })
await store.close()
await ledger.close()

function hear(line: string): Promise<void> {
  return toldOf(line).promise
}

function toldOf(line: string): PromiseWithResolvers<void> {
  const waiting = told.get(line) ?? Promise.withResolvers<void>()
  told.set(line, waiting)
  return waiting
}

function remember({ taskId, fencingToken, leaseId }: Claim): void {
  leaseIds.set(`${taskId} ${fencingToken}`, leaseId)
}

/** All that a lease is for, straight to the store: what it lets through is let through. */
async function writeBlindly(leaseId: string): Promise<ZombieTold['writes']> {
  const operations: readonly Write[] = [
    { kind: 'recordStep', leaseId, key: 'blind', position: 1, durationMs: 1, result: '"blind"' },
    { kind: 'progress', leaseId, progress: '"blind"' },
    { kind: 'appendOutput', leaseId, chunks: ['"blind"'] },
    { kind: 'checkpoint', leaseId, data: '"blind"' },
    { kind: 'settle', leaseId, settlement: { as: 'completed', output: '"blind"' } },
  ]
  const answers = operations.map(async (operation) => {
    const answer = (await store.write(operation)) as string | { readonly fenced: string }
    return [operation.kind, typeof answer === 'string' ? answer : answer.fenced] as const
  })
  return Object.fromEntries(await Promise.all(answers))
}

async function nameOf(tried: Promise<unknown>): Promise<string> {
  try {
    await tried
    return 'done'
  } catch (error) {
    return (error as Error).name
  }
}
