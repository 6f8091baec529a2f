// Measures for how long a pass of retention holds others up on PostgreSQL: commits that delete so many tasks of five events each, and those of another
// process beside them, which submits one task after the other. The server and both processes share the machine.
//
//   node tools/bench/slices.ts [--sizes 50,100,200] [--commits 20]
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { parseExecutionConfig } from '../../packages/agent-runtime-core/src/schemas.ts'
import type { Claim, ExecutionStore } from '../../packages/agent-runtime-core/src/index.ts'
import { openStore } from '../../packages/agent-runtime-persistence/src/index.ts'
import { startPostgres } from '../../packages/agent-gym/src/place/postgres-server.ts'
import { median } from './statistics.ts'

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '50,100,200' },
    commits: { type: 'string', default: '20' },
  },
})
const sizes = values.sizes.split(',').map(Number)
const commits = Number(values.commits)
const { config } = parseExecutionConfig({
  queueDepthLimit: 1_000_000,
  batchBackpressureThreshold: 1_000_000,
  maxInFlightPerWorker: 500,
  retention: { completed: { ageMs: 1 }, keysMs: 1 },
})
const clock = () => Number(process.hrtime.bigint()) / 1e6

/** How long something took, in ms. */
async function timed(run: () => Promise<unknown>): Promise<number> {
  const began = clock()
  await run()
  return clock() - began
}

const task = { type: 'work', lane: 'normal', input: '{"n":1}' } as const

/** So many tasks take two steps each, and complete. */
async function fill(store: ExecutionStore, count: number): Promise<void> {
  let [credit, done] = [500, 0]
  const all = Promise.withResolvers<void>()
  const work = async ({ leaseId }: Claim) => {
    for (const position of [0, 1])
      await store.write({
        kind: 'recordStep',
        leaseId,
        key: `step ${position}`,
        position,
        durationMs: 1,
        result: '"done"',
      })
    await store.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } })
    store.demand('filler', (credit += 1))
    done += 1
    if (done === count) all.resolve()
  }
  using _ = store.listen({
    claimed: (claims) => {
      for (const claim of claims) work(claim).catch(all.reject)
    },
  })
  await store.write({
    kind: 'registerWorkers',
    workers: [{ workerId: 'filler', capacity: 500, types: ['*'] }],
  })
  for (let left = count; left > 0; left -= 500)
    await store.write({
      kind: 'submit',
      tasks: Array.from({ length: Math.min(500, left) }, () => ({ ...task })),
    })
  store.demand('filler', credit)
  await all.promise
  await store.write({ kind: 'removeWorkers', workerIds: ['filler'] })
}

/** The times of another process's commits for as long as `body` runs. */
async function beside(other: ExecutionStore, body: () => Promise<void>): Promise<readonly number[]> {
  const over = new AbortController()
  const times: number[] = []
  const submitting = (async () => {
    while (!over.signal.aborted)
      times.push(
        await timed(() => other.write({ kind: 'submit', tasks: [{ ...task, delayMs: 86_400_000 }] })),
      )
  })()
  await body()
  over.abort()
  await submitting
  return times
}

const shown = (times: readonly number[]) =>
  `${median(times).toFixed(1)} ms at the median, ${Math.max(...times).toFixed(1)} at the longest, of ${times.length}`

const server = await startPostgres({ fsync: true })
try {
  const url = `${server.url}?schema=slices`
  const store = await openStore(url, { config })
  const other = await openStore(url, { config })
  await fill(store, sizes.reduce((sum, size) => sum + size, 0) * commits)
  const alone: number[] = []
  for (let n = 0; n < 3 * commits; n += 1)
    alone.push(await timed(() => other.write({ kind: 'submit', tasks: [{ ...task, delayMs: 86_400_000 }] })))
  console.log(`another process alone: ${shown(alone)}; load ${loadavg()[0]?.toFixed(1)}`)
  let first = 1
  for (const size of sizes) {
    const pass: number[] = []
    const others = await beside(other, async () => {
      for (let n = 0; n < commits; n += 1) {
        const tasks = Array.from({ length: size }, (_, place) => first + place)
        pass.push(
          await timed(async () => {
            // It ends before so many events are deleted that the next task would be one too many.
            first += (await store.write({ kind: 'prune', tasks, newest: [], dryRun: false })).looked
          }),
        )
      }
    })
    console.log(
      `commits of ${size} tasks: ${shown(pass)}; another process: ${shown(others)}; load ${loadavg()[0]?.toFixed(1)}`,
    )
  }
  const { deleted } = await store.read({ kind: 'stats' })
  console.log(`${deleted.completed} tasks were deleted`)
  await Promise.all([store.close(), other.close()])
} finally {
  await server.stop()
}
