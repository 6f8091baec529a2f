import type { Lane } from '@ku0/agent-runtime-core'
import type { SubmitOptions } from '@ku0/agent-runtime'
import type { Call, Run } from '../call.ts'
import { connect } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { noteWaits } from '../follow-waits.ts'
import { writeOutput } from '../follow-output.ts'
import { readInput } from '../read-input.ts'
import { shown } from '../screen/json.ts'
import { printReceipt } from '../screen/receipt.ts'
import { typesFor } from '../task-types.ts'
import type { Connection } from '../remote.ts'

interface Options {
  readonly input?: string
  readonly wait?: boolean
  readonly follow?: boolean
  readonly timeout?: number
  readonly lane?: Lane
  readonly key?: string
  readonly id?: string
  readonly client?: string
  readonly agreement?: string
  readonly cost?: number
  readonly model?: string
  readonly label?: Readonly<Record<string, string>>
  readonly delay?: number
  readonly due?: number
  readonly limit?: number
}

export const run: Run = async (call) => {
  const { args, print } = call
  const [type = '', given] = args
  const options = call.options as Options
  const settings = await call.settings()
  const input = await readInput(call, given, options.input)
  const types = await typesFor(settings, options.agreement)
  await using client = await connect(settings, {
    types,
    print,
  })
  const receipt = await client.submit(type, input, submitOptions(options))
  const isAwaited = options.wait === true || options.follow === true
  if (!receipt.accepted) {
    if (isAwaited && print.isJson) return await complainOf(client, receipt.taskId)
    printReceipt(print, receipt)
    return cliExitCodes.failed
  }
  if (!isAwaited) {
    print.answer(receipt, () => [receipt.taskId])
    if (receipt.deduplicated) print.note('this task was submitted before, with the same key')
    await noteNoWorker(client, type, call)
    return cliExitCodes.ok
  }
  print.note(`task ${receipt.taskId}`)
  await noteNoWorker(client, type, call)
  return await awaited(client, receipt.taskId, options, call)
}

function submitOptions(options: Options): SubmitOptions {
  const { lane, key, id, client, agreement, cost, model, label, delay, due, limit } = options
  return {
    lane,
    idempotencyKey: key,
    taskId: id,
    client,
    agreement,
    cost,
    model,
    labels: label,
    delayMs: delay,
    dueAt: due,
    timeoutMs: limit,
  }
}

async function awaited(client: Connection, taskId: string, options: Options, call: Call): Promise<number> {
  const { follow = false, timeout } = options
  const { print, signal } = call
  const over = new AbortController()
  const noting = noteWaits(client, taskId, { print, signal: AbortSignal.any([signal, over.signal]) })
  const result = client.result(taskId, { signal, ...(timeout === undefined ? {} : { timeoutMs: timeout }) })
  if (follow) {
    const following = writeOutput(
      client.output(taskId, { signal: AbortSignal.any([signal, over.signal]) }),
      print,
    )
    // A task that is parked, or takes too long, ends this command before its output has ended.
    await Promise.race([
      following,
      result.then(
        () => following,
        () => over.abort(),
      ),
    ]).catch(() => undefined)
    over.abort()
    await following.catch(() => undefined)
  }
  let output: unknown
  try {
    output = await result
  } finally {
    over.abort()
    await noting
  }
  if (follow) print.item({ type: 'result', taskId, output: output ?? null }, () => shown(output ?? null))
  else print.answer(output ?? null, () => shown(output ?? null).split('\n'))
  return cliExitCodes.ok
}

/** A task of a type that nobody runs is no error, and waits for ever: better to say so at once. */
async function noteNoWorker(client: Connection, type: string, { print }: Call): Promise<void> {
  const workers = (await client.workers()).filter(({ state }) => state !== 'silent')
  if (workers.some(({ types }) => types.includes(type) || types.includes('*'))) return
  const others = [...new Set(workers.flatMap(({ types }) => types))]
  print.note(
    `no worker runs ${type} now: the task waits for one${others.length === 0 ? '' : ` (there are workers for ${others.join(', ')})`}`,
  )
}

async function complainOf(client: Connection, taskId: string): Promise<number> {
  await client.result(taskId)
  return cliExitCodes.failed
}
