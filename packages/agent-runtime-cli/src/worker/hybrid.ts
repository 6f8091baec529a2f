import { createRuntime } from '@ku0/agent-runtime'
import { openOrMake } from '../connect.ts'
import { flagsOf } from '../flags.ts'
import { processJobs } from '../jobs/process-jobs.ts'
import { say } from '../screen/lifetime.ts'
import { spawnSelf } from '../spawn.ts'
import { isServer, shownUrl } from '../store-argument.ts'
import { leave } from './daemon.ts'
import { failing } from './failing.ts'
import { JobLauncher, LANE } from './job-launcher.ts'
import { optionsOf } from './options.ts'
import { askStore, probe, probeText, tellOf } from './readiness.ts'
import { tellStuck } from './tell-stuck.ts'
import type { WorkerCall } from './worker-call.ts'

/** Runs interactive and normal tasks itself, and starts one job for each queued batch task. */
export async function runHybrid({ call, settings, file, tasks, ready }: WorkerCall): Promise<number> {
  const types = tasks.map(({ type }) => type)
  const { lanes } = settings.worker
  const own = lanes.filter((lane) => lane !== LANE)
  const inJobs = lanes.includes(LANE) ? types : []
  const failure = failing()
  await using runtime = await openOrMake(settings, call.print, (existing) =>
    createRuntime({
      ...optionsOf(settings, existing),
      tasks,
      workers: own.length === 0 ? 0 : { capacity: settings.worker.capacity, lanes: own },
      onFailure: failure.tell,
      watchdog: isServer(settings.store) ? undefined : settings.watchdog,
    }),
  )
  using _ = tellStuck(call, runtime)
  const { spawn = spawnSelf } = call.outlet
  const { config } = call.options as { readonly config?: string }
  const env: Readonly<Record<string, string>> =
    settings.token === undefined ? {} : { AGENT_RUNTIME_TOKEN: settings.token }
  const processes = processJobs({
    spawn: (args, options) => spawn(args, { ...options, env }),
    args: (task) => [
      'worker',
      file,
      ...flagsOf({
        mode: 'job',
        types: task.types,
        lanes: task.lanes,
        store: settings.store,
        config,
        json: true,
      }),
    ],
  })
  const target = settings.jobs ?? processes
  const jobs = new JobLauncher({ runtime, call, target, types: inJobs, most: settings.worker.maxJobs })
  const readiness = own.length === 0 ? undefined : tellOf(runtime.pool, ready)
  const asking = readiness === undefined ? undefined : askStore(runtime, ready)
  if (readiness === undefined) ready.tell(true)
  const where = settings.jobs === undefined ? '' : ` of ${target.name}`
  say(
    call,
    {
      type: 'ready',
      store: shownUrl(settings.store),
      types,
      lanes: own,
      jobs: inJobs,
      target: target.name,
      ...probe(ready),
    },
    `ready: runs ${own.join(' and ') || 'no'} tasks of ${types.join(', ')} itself, and ${inJobs.length === 0 ? 'none' : `batch tasks`} in jobs${where}, ${settings.worker.maxJobs} at most${probeText(ready)}`,
  )
  await Promise.race([jobs.run(), failure.failed])
  readiness?.[Symbol.dispose]()
  asking?.[Symbol.dispose]()
  ready.tell(false)
  say(call, { type: 'draining' }, 'draining')
  // Child processes drain as this one does. A job elsewhere has a life of its own: it goes on while this worker is deployed anew.
  if (settings.jobs === undefined) await jobs.stop()
  await processes.ended()
  return leave(call, await runtime.stop())
}
