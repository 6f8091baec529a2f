import { createRuntime } from '@ku0/agent-runtime'
import { flagsOf } from '../flags.ts'
import { processJobs } from '../jobs/process-jobs.ts'
import { say } from '../screen/lifetime.ts'
import { spawnSelf } from '../spawn.ts'
import { shownUrl } from '../store-argument.ts'
import { leave } from './daemon.ts'
import { failing } from './failing.ts'
import { JobLauncher } from './job-launcher.ts'
import { optionsOf } from './options.ts'
import { probe, tellOf } from './readiness.ts'
import type { WorkerCall } from './worker-call.ts'

/** Runs interactive and normal task types itself, and starts one job for each queued task of a batch type. */
export async function runHybrid({ call, settings, file, tasks, ready }: WorkerCall): Promise<number> {
  const batch = tasks.filter(({ lane }) => lane === 'batch').map(({ type }) => type)
  const own = tasks.filter(({ lane }) => lane !== 'batch').map(({ type }) => type)
  const failure = failing()
  await using runtime = await createRuntime({
    ...optionsOf(settings),
    tasks,
    workers: own.length === 0 ? 0 : { capacity: settings.worker.capacity, types: own },
    onFailure: failure.tell,
  })
  const { spawn = spawnSelf } = call.outlet
  const { config } = call.options as { readonly config?: string }
  const processes = processJobs({
    spawn,
    args: ({ types }) => [
      'worker',
      file,
      ...flagsOf({ mode: 'job', types, store: settings.store, config, json: true }),
    ],
  })
  const target = settings.jobs ?? processes
  const jobs = new JobLauncher({ runtime, call, target, types: batch, most: settings.worker.maxJobs })
  const readiness = own.length === 0 ? undefined : tellOf(runtime.pool, ready.tell)
  if (readiness === undefined) ready.tell(true)
  const where = settings.jobs === undefined ? '' : ` of ${target.name}`
  say(
    call,
    {
      type: 'ready',
      store: shownUrl(settings.store),
      types: own,
      jobs: batch,
      target: target.name,
      ...probe(ready),
    },
    `ready: runs ${own.join(', ') || 'nothing'} itself, and ${batch.join(', ') || 'nothing'} in jobs${where}, ${settings.worker.maxJobs} at most`,
  )
  await Promise.race([jobs.run(), failure.failed])
  readiness?.[Symbol.dispose]()
  ready.tell(false)
  say(call, { type: 'draining' }, 'draining')
  // Child processes drain as this one does. A job elsewhere has a life of its own: it goes on while this worker is deployed anew.
  if (settings.jobs === undefined) await jobs.stop()
  await processes.ended()
  return leave(call, await runtime.stop())
}
