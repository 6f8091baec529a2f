import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { defineTask, type TaskContext, type TaskDefinition, type Usage } from '@ku0/agent-runtime'
import type { BudgetOptions } from '@ku0/agent-runtime-core'
import { z } from 'zod'
import { wallNow } from '../host/notes.ts'
import type { Group, Hold } from '../scenario/scenario.ts'
import { marketsOf } from './market.ts'
import { streamTasks } from './stream.ts'
import { supervisorsOf } from './supervise.ts'
import { attend, nameOf, type World } from './attend.ts'
import { followLog } from './follow-log.ts'
import { countLines, type FileKind, sha256 } from './tree.ts'

/** The gym's task types: real work on real files, each effect witnessed in the ledger. */
export function gymTasks(world: World, workload: readonly Group[] = []): readonly TaskDefinition[] {
  const plain = [
    inspectFolder,
    hashFiles,
    spend,
    follow,
    crashProcess,
    noOp,
    noOpSteps,
    nap,
    replayRequest,
  ].map((make) => make(world))
  const streams = workload.some(({ work }) => work.type === 'stream') ? streamTasks(world) : []
  return [...plain, ...supervisorsOf(world, workload), ...streams, ...marketsOf(world, workload)]
}

const HoldInput = z
  .object({
    gate: z.string(),
    at: z.union([z.number(), z.literal('end')]),
    process: z.string().optional(),
    ignoreAbort: z.boolean(),
  })
  .optional()

function inspectFolder(world: World): TaskDefinition {
  const input = z.object({ folder: z.string(), tool: z.boolean(), parallel: z.boolean(), hold: HoldInput })
  return defineTask({ type: 'inspect-folder', input }, (ctx, { folder, tool, parallel, hold }) =>
    attend(world, ctx, async (effect) => {
      const passing = holder(world, ctx, hold)
      const files = await effect('list', async () => {
        await passing(0)
        return walk(world.folders.tree, folder)
      })
      const hashing = async () =>
        effect('hash', async () => {
          await passing(1)
          return hashAll(world.folders.tree, files)
        })
      const classifying = async () =>
        effect('classify', async () => {
          await passing(2)
          return classifyAll(world.folders.tree, files)
        })
      const [{ bytes, digest }, { lines, kinds }] = parallel
        ? await Promise.all([hashing(), classifying()])
        : [await hashing(), await classifying()]
      const bytesByTool = tool
        ? await effect('count-again', async () => {
            await passing(3)
            return countByTool(ctx, world.folders.tree, files)
          })
        : null
      const facts = { folder, files: files.length, bytes, lines, kinds, digest, bytesByTool }
      await effect('write-result', async () => {
        await passing(4)
        await writeResult(world.folders.results, Number(ctx.labels['n']), facts)
      })
      await passing('end')
      return facts
    }),
  )
}

function hashFiles(world: World): TaskDefinition {
  const input = z.object({ files: z.array(z.string()), hold: HoldInput })
  return defineTask({ type: 'hash-files', input }, (ctx, { files, hold }) =>
    attend(world, ctx, async (effect) => {
      const passing = holder(world, ctx, hold)
      const digests: string[] = []
      for (const [i, file] of files.entries()) {
        const digest = await effect(`hash:${i}`, async () => {
          await passing(i)
          return sha256(await readFile(join(world.folders.tree, file)))
        })
        digests.push(digest)
      }
      await passing('end')
      return { digest: sha256(digests.join('')), files: files.length }
    }),
  )
}

function spend(world: World): TaskDefinition {
  const definition: TaskDefinition<'spend', Spending, number> = defineTask(
    { type: 'spend', input: Spending },
    (ctx, { steps, stepMs, charge, calls, hold }) =>
      attend(world, ctx, async (effect) => {
        const passing = holder(world, ctx, hold)
        for (let i = 0; i < steps; i += 1)
          await effect(`spend:${i}`, async (step) => {
            await passing(i)
            if (stepMs > 0) await pause(stepMs, step.signal)
            step.charge(charge)
          })
        for (const { name, input, budget, mayExceed } of calls) {
          const options = budget === undefined ? {} : { budget }
          await ctx.call(name, definition, input, options).catch((error: unknown) => {
            if (!mayExceed || nameOf(error) !== 'budget_exceeded') throw error
          })
        }
        await passing('end')
        return steps
      }),
  )
  return definition
}

interface Spending {
  readonly steps: number
  readonly stepMs: number
  readonly charge: Usage
  readonly calls: readonly {
    readonly name: string
    readonly input: Spending
    readonly budget?: BudgetOptions
    readonly mayExceed: boolean
  }[]
  readonly hold?: Hold
}
// The plan has made it, from a scenario that was checked.
const Spending = z.custom<Spending>((value) => typeof value === 'object' && value !== null)

function follow(world: World): TaskDefinition {
  return defineTask({ type: 'follow-log', input: z.object({ stubborn: z.boolean() }) }, (ctx, { stubborn }) =>
    attend(world, ctx, async (effect) => {
      await effect('follow', (step) =>
        followLog(ctx, step.signal, {
          file: world.folders.log,
          notes: join(world.folders.tools, `${ctx.taskId}.${ctx.fencingToken}`),
          stubborn,
          onRunning: () => noteHolding(world, ctx, 'tool'),
        }),
      )
    }),
  )
}

function crashProcess(world: World): TaskDefinition {
  return defineTask({ type: 'crash-process', input: z.object({}) }, (ctx) =>
    attend(world, ctx, async (effect) => {
      await effect('prepare', () => 'ready')
      process.kill(process.pid, 'SIGKILL')
      // Nothing may run in the moment before the signal arrives.
      await new Promise(() => undefined)
    }),
  )
}

function noOp(world: World): TaskDefinition {
  return defineTask({ type: 'no-op', input: z.object({}) }, (ctx) => {
    visit(world, ctx)
    return world.watched ? attend(world, ctx, async () => null) : null
  })
}

function noOpSteps(world: World): TaskDefinition {
  return defineTask(
    { type: 'no-op-steps', input: z.object({ steps: z.number() }) },
    async (ctx, { steps }) => {
      visit(world, ctx)
      for (let i = 0; i < steps; i += 1) await ctx.step(`step:${i}`, () => i)
      return steps
    },
  )
}

function nap(world: World): TaskDefinition {
  return defineTask({ type: 'nap', input: z.object({ ms: z.number() }) }, (ctx, { ms }) =>
    attend(world, ctx, async (effect) => {
      await effect('lie-down', () => 'good night')
      await ctx.sleep('nap', ms)
      await effect('get-up', () => 'good morning')
      return ms
    }),
  )
}

function replayRequest(world: World): TaskDefinition {
  const input = z.object({
    contextBytes: z.number(),
    generatedTokens: z.number(),
    generateMs: z.number(),
    from: z.number(),
  })
  return defineTask(
    { type: 'replay-request', input },
    (ctx, { contextBytes, generatedTokens, generateMs, from }) =>
      attend(world, ctx, async (effect) => {
        await effect('read-context', () => hashSoMuch(world.folders.tree, contextBytes, from))
        await effect('generate', (step) => pause(generateMs, step.signal))
        return { contextBytes, generatedTokens }
      }),
  )
}

/** Stays at the hold's gate when the handler comes to its place. */
function holder(
  world: World,
  ctx: TaskContext,
  hold: Hold | undefined,
): (place: Hold['at']) => Promise<void> {
  return async (place) => {
    if (hold === undefined || hold.at !== place) return
    if (hold.process !== undefined && hold.process !== world.processName) return
    noteHolding(world, ctx, hold.gate)
    await world.gates.pass(hold.gate, hold.ignoreAbort ? undefined : ctx.signal)
  }
}

function noteHolding(world: World, ctx: TaskContext, gate: string): void {
  const { taskId, fencingToken: token } = ctx
  world.notes.add({ kind: 'holding', taskId, n: Number(ctx.labels['n']), token, gate, at: wallNow() })
}

function visit(world: World, ctx: TaskContext): void {
  const n = Number(ctx.labels['n'])
  world.visits.set(n, (world.visits.get(n) ?? 0) + 1)
}

/** The files below a folder, relative to the tree, in the order of their paths. */
async function walk(tree: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(tree, folder), { withFileTypes: true })
  const below = await Promise.all(
    entries.map((entry) => {
      const path = `${folder}/${entry.name}`
      return entry.isDirectory() ? walk(tree, path) : Promise.resolve([path])
    }),
  )
  return below.flat().toSorted()
}

async function hashAll(tree: string, files: readonly string[]): Promise<{ bytes: number; digest: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  for (const file of files) {
    const content = await readFile(join(tree, file))
    bytes += content.length
    hash.update(sha256(content))
  }
  return { bytes, digest: hash.digest('hex') }
}

async function classifyAll(
  tree: string,
  files: readonly string[],
): Promise<{ lines: number; kinds: Record<FileKind, number> }> {
  const kinds = { text: 0, json: 0, table: 0, binary: 0 }
  let lines = 0
  for (const file of files) {
    const content = await readFile(join(tree, file))
    lines += countLines(content)
    kinds[classify(content)] += 1
  }
  return { lines, kinds }
}

/** What a file is, by its bytes alone. */
function classify(content: Buffer): FileKind {
  if (content.includes(0)) return 'binary'
  const text = content.toString('utf8')
  if (text.startsWith('[')) return 'json'
  return /^\d+,\w+,[\d.]+$/m.test(text) ? 'table' : 'text'
}

/** A child process counts the bytes once more. */
async function countByTool(ctx: TaskContext, tree: string, files: readonly string[]): Promise<number> {
  const { code, stdout, stderr } = await ctx.exec('wc', ['-c', ...files], { cwd: tree })
  if (code !== 0) throw new Error(`wc ended with ${code}: ${stderr}`)
  const counts = stdout
    .trimEnd()
    .split('\n')
    .filter((line) => !/^\s*\d+ total$/.test(line))
    .map((line) => Number.parseInt(line, 10))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** One file a task, replaced as a whole, so that a second run of the step changes nothing. */
async function writeResult(results: string, n: number, facts: object): Promise<void> {
  const file = join(results, `${n}.json`)
  await mkdir(dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}.draft`
  await writeFile(draft, `${JSON.stringify(facts)}\n`)
  await rename(draft, file)
}

async function hashSoMuch(tree: string, bytes: number, from: number): Promise<string> {
  const hash = createHash('sha256')
  const files = (await readdir(tree, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  )
  for (let read = 0, i = from; read < bytes; i += 1) {
    const entry = files[i % files.length]
    if (entry === undefined) break
    const content = await readFile(join(entry.parentPath, entry.name))
    hash.update(content.subarray(0, bytes - read))
    read += content.length
  }
  return hash.digest('hex')
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const onAbort = () => {
    clearTimeout(timer)
    reject(signal.reason as Error)
  }
  const timer = setTimeout(() => {
    signal.removeEventListener('abort', onAbort)
    resolve()
  }, ms)
  signal.addEventListener('abort', onAbort, { once: true })
  return promise
}
