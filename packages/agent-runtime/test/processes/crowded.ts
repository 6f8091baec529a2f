// Opens a store and a runtime, takes every file descriptor that is left, and says what still works; gives them back, and says it again.
import { closeSync, openSync } from 'node:fs'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

const database = process.argv[2] ?? ''
const messageOf = (error: unknown) => (error as Error).message

const plain = defineTask({ type: 'plain', input: z.number() }, (ctx, n) => ctx.step('double', () => 2 * n))
const tool = defineTask({ type: 'tool', input: z.null() }, async (ctx) => {
  const { code } = await ctx.exec('true')
  return code
})
const open = (path: string) =>
  createRuntime({ store: `sqlite:${path}`, tasks: [plain, tool], logger: false, telemetry: false })

const runtime = await open(database)
const look = async (when: string) => {
  const doubled = await runtime.result(await runtime.submit(plain, 21))
  const ran = await runtime
    .result(await runtime.submit(tool, null))
    .catch((error: Error) => messageOf(error.cause))
  const opened = await open(`${database}.other`).then((other) => other.stop().then(() => 'opened'), messageOf)
  said.push(`${when}: ${String(doubled)}, ${String(ran)}, ${opened}`)
}
const said: string[] = []
const taken: number[] = []
for (;;) {
  try {
    taken.push(openSync('/dev/null', 'r'))
  } catch (error) {
    said.push(`${taken.length > 0 ? 'some' : 'none'} taken: ${messageOf(error)}`)
    break
  }
}
await look('full')
for (const descriptor of taken) closeSync(descriptor)
await look('free')
await runtime.stop()
console.log(said.join('\n'))
