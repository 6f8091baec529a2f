import { RuntimeError } from '@ku0/agent-runtime-core'
import type { Call, Run } from '../call.ts'
import { connect } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import type { Connection } from '../remote.ts'
import { many } from '../screen/words.ts'

/** The time between two looks at what drained workers still run. */
const LOOK_MS = 200

export const run: Run = async (call) => {
  const { args, options, print, settings } = call
  const { undo = false, wait = false } = options as { readonly undo?: boolean; readonly wait?: boolean }
  await using client = await connect(await settings())
  const missing: string[] = []
  for (const workerId of args) {
    const found = await (undo ? client.undrainWorker(workerId) : client.drainWorker(workerId))
    if (found === 0) missing.push(workerId)
  }
  const drained = args.filter((workerId) => !missing.includes(workerId))
  if (wait && !undo) await emptied(call, client, drained)
  const rows = (await client.workers()).filter(({ workerId }) => drained.includes(workerId))
  print.answer(
    rows.map(({ workerId, state, inFlight }) => ({ workerId, state, inFlight })),
    () =>
      rows.map(({ workerId, state, inFlight }) =>
        inFlight === 0 ? `${workerId}: ${state}` : `${workerId}: ${state}, runs ${many(inFlight, 'task')}`,
      ),
  )
  if (missing.length > 0)
    throw new RuntimeError(
      'not_found',
      `no worker has the id ${missing.join(', ')}; agent-runtime workers lists them`,
      { details: { workers: missing } },
    )
  return cliExitCodes.ok
}

/** Resolves once none of the workers runs a task; a worker that left runs none. */
async function emptied(call: Call, client: Connection, workerIds: readonly string[]): Promise<void> {
  const { timeout } = call.options as { readonly timeout?: number }
  const until = timeout === undefined ? Number.POSITIVE_INFINITY : call.system.now() + timeout
  while (!call.signal.aborted) {
    const busy = (await client.workers()).filter(
      ({ workerId, inFlight }) => inFlight > 0 && workerIds.includes(workerId),
    )
    if (busy.length === 0) return
    if (call.system.now() >= until) {
      const names = busy.map(({ workerId }) => workerId).join(', ')
      throw new RuntimeError('timeout', `tasks still run on ${names}; the drain stays, so wait again`)
    }
    await call.system.sleep(LOOK_MS, call.signal)
  }
}
