// A process that submits when it is told to, as many at a time as it is told, and says what was answered.
import { createInterface } from 'node:readline'
import { createRuntime, defineTask, type Runtime } from '@ku0/agent-runtime'
import type { Lane } from '@ku0/agent-runtime-core'
import { z } from 'zod'

const task = defineTask({ type: 'burst', input: z.int() }, () => undefined)
const say = (line: string) => void process.stdout.write(`${line}\n`)
let runtime: Runtime | undefined

for await (const line of createInterface({ input: process.stdin })) {
  const [what, ...rest] = line.split(' ')
  if (what === 'end') break
  if (what === 'open') {
    runtime = await createRuntime({ store: rest.join(' '), tasks: [task], workers: 0, logger: false })
    say('open')
  }
  if (what === 'submit' && runtime !== undefined) {
    const [lane, submitters, each] = rest
    say(`told ${JSON.stringify(await submit(runtime, lane as Lane, Number(submitters), Number(each)))}`)
  }
  if (what === 'close') {
    await runtime?.stop()
    say('closed')
  }
}
// Its parent holds the other end still.
process.stdin.destroy()

/** Each submitter submits anew as soon as it was answered. Answers with how often each answer was given. */
async function submit(
  to: Runtime,
  lane: Lane,
  submitters: number,
  each: number,
): Promise<Readonly<Record<string, number>>> {
  const answers: Record<string, number> = {}
  const one = async () => {
    for (let n = 0; n < each; n += 1) {
      const receipt = await to.submit(task, n, { lane })
      const answer = receipt.accepted ? 'accepted' : receipt.reason
      answers[answer] = (answers[answer] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: submitters }, one))
  return answers
}
