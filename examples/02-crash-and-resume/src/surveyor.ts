// A process that surveys the sources of this repository. It says which steps it begins, and can be told to die.
//
//   node surveyor.ts DATABASE [--die-after STEPS]
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createRuntime, defineTask, type TaskContext } from '@ku0/agent-runtime'
import { z } from 'zod'

const packages = [
  'agent-runtime-core',
  'agent-runtime-persistence',
  'agent-runtime-telemetry',
  'agent-runtime',
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'die-after': { type: 'string', default: 'Infinity' } },
})
let stepsLeft = Number(values['die-after'])

const survey = defineTask(
  { type: 'survey', input: z.object({ name: z.string() }) },
  async (ctx, { name }) => {
    const folder = resolve(import.meta.dirname, '../../../packages', name, 'src')
    const files = await step(ctx, name, 'list files', () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .toSorted(),
    )
    const texts = files.map((file) => readFileSync(join(folder, file), 'utf8'))
    const lines = await step(ctx, name, 'count lines', () => texts.join('').split('\n').length)
    const longest = await step(ctx, name, 'find the longest', () => longestOf(files, texts))
    const sha256 = await step(ctx, name, 'hash', () =>
      createHash('sha256').update(texts.join('')).digest('hex'),
    )
    return { files: files.length, lines, longest, sha256: sha256.slice(0, 12) }
  },
)

/** A step that tells of itself, takes its time, and may be the last that this process gets done. */
async function step<T>(ctx: TaskContext, name: string, key: string, work: () => T): Promise<T> {
  const result = await ctx.step(key, async () => {
    console.log(`begins: ${name}: ${key}`)
    await sleep(60 + 40 * packages.indexOf(name))
    return work()
  })
  stepsLeft -= 1
  if (stepsLeft === 0) process.kill(process.pid, 'SIGKILL')
  return result
}

function longestOf(files: readonly string[], texts: readonly string[]): string | undefined {
  const lengths = texts.map((text) => text.length)
  return files[lengths.indexOf(Math.max(...lengths))]
}

await using runtime = await createRuntime({
  store: `sqlite:${positionals[0]}`,
  tasks: [survey],
  logger: false,
})
runtime.on('step.replayed', ({ taskId, data }) => console.log(`from the store: ${taskId}: ${data.key}`))

// The second process submits the same: the idempotency keys find the tasks of the first.
const receipts = await runtime.submitMany(
  packages.map((name) => ({
    task: survey,
    input: { name },
    options: { taskId: name, idempotencyKey: name },
  })),
)
for (const receipt of receipts) {
  console.log(`result: ${receipt.taskId}: ${JSON.stringify(await runtime.result(receipt))}`)
}
