import { createRuntime, createWorker, type StopReport } from '@ku0/agent-runtime'
import type { Call } from '../call.ts'
import type { WorkerCall } from './worker-call.ts'
import { openOrMake } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { ended, say } from '../screen/lifetime.ts'
import { many } from '../screen/words.ts'
import { isServer, shownUrl } from '../store-argument.ts'
import { failing } from './failing.ts'
import { optionsOf } from './options.ts'
import { askStore, probe, probeText, tellOf } from './readiness.ts'
import { tellStuck } from './tell-stuck.ts'

/** Runs tasks until it is stopped, and drains then. */
export async function runDaemon({ call, settings, tasks, ready }: WorkerCall): Promise<number> {
  const failure = failing()
  const optionsWith = (existing?: boolean) => ({
    ...optionsOf(settings, existing),
    tasks,
    workers: { capacity: settings.worker.capacity, lanes: settings.worker.lanes },
    onFailure: failure.tell,
  })
  // The store behind a server is watched by the processes that have it open.
  const runtime = isServer(settings.store)
    ? undefined
    : await openOrMake(settings, call.print, (existing) =>
        createRuntime({ ...optionsWith(existing), watchdog: settings.watchdog }),
      )
  await using worker = runtime ?? (await createWorker(optionsWith()))
  using _ = runtime === undefined ? undefined : tellStuck(call, runtime)
  const readiness = tellOf(worker.pool, ready)
  const asking = runtime === undefined ? undefined : askStore(runtime, ready)
  const types = tasks.map(({ type }) => type)
  say(
    call,
    { type: 'ready', store: shownUrl(settings.store), types, ...probe(ready) },
    `ready: runs ${types.join(', ')} of ${shownUrl(settings.store)}${probeText(ready)}`,
  )
  await ended(call.signal, failure.failed)
  readiness[Symbol.dispose]()
  asking?.[Symbol.dispose]()
  ready.tell(false)
  say(call, { type: 'draining' }, 'draining')
  return leave(call, await worker.stop())
}

/** The exit code of a stop: tasks that went back unfinished are no loss, but worth a code. */
export function leave(call: Call, { drained, released }: StopReport): number {
  say(
    call,
    { type: 'stopped', drained, released },
    drained ? 'stopped' : `stopped; ${many(released, 'task')} went back to the queue`,
  )
  return drained ? cliExitCodes.ok : cliExitCodes.failed
}
