import { resolve } from 'node:path'
import { suggestionFor } from '@ku0/agent-runtime-core'
import type { TaskDefinition } from '@ku0/agent-runtime'
import type { Call, Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { flagsOf } from '../flags.ts'
import type { Settings } from '../settings/settings.ts'
import { spawnSelf } from '../spawn.ts'
import { requireTaskTypes } from '../task-types.ts'
import { openReadiness, untilEnd } from '../worker/readiness.ts'
import { runReloading } from '../worker/reload.ts'

export const run: Run = async (call) => {
  const [module] = call.args
  const {
    watch = false,
    readyFile,
    readyPort,
    readyHost = '127.0.0.1',
  } = call.options as {
    readonly watch?: boolean
    readonly readyFile?: string
    readonly readyPort?: number
    readonly readyHost?: string
  }
  if (watch) return watched(call)
  const settings = await call.settings(module === undefined ? {} : { tasks: module })
  const load = async (how?: { readonly anew: boolean }) => {
    const { definitions, file } = await requireTaskTypes(settings, 'worker', how)
    return { file, tasks: chosen(definitions, settings, file) }
  }
  const loaded = await load()
  const folder = call.outlet.folder ?? process.cwd()
  const places = {
    file: readyFile === undefined ? undefined : resolve(folder, readyFile),
    port: readyPort,
    host: readyHost,
  }
  await using ready = await openReadiness(places, call.system)
  const { mode } = settings.worker
  if (mode === 'job') {
    const { runJob } = await import('../worker/job.ts')
    return await runJob({ call, settings, ready: untilEnd(ready, call.signal), ...loaded })
  }
  const runs =
    mode === 'daemon'
      ? (await import('../worker/daemon.ts')).runDaemon
      : (await import('../worker/hybrid.ts')).runHybrid
  return await runReloading(call, loaded, {
    load: () => load({ anew: true }),
    run: (here, types) => runs({ call: here, settings, ready: untilEnd(ready, here.signal), ...types }),
  })
}

/** The definitions of the types that were asked for. */
function chosen(
  all: readonly TaskDefinition[],
  { worker: { types }, values }: Settings,
  file: string,
): readonly TaskDefinition[] {
  if (all.length === 0) throw new UsageError(`${file} exports no task type with a handler`)
  if (types.includes('*')) return all
  const known = all.map(({ type }) => type)
  for (const type of types) {
    if (known.includes(type)) continue
    const meant = suggestionFor(type, known)
    const { from, where } = values.find(({ name }) => name === 'worker.types') ?? {}
    const origin = from === 'environment' || from === 'file' ? ` (named by ${where ?? from})` : ''
    throw new UsageError(
      `${file} exports no task type ${type}${origin}${meant === undefined ? `; it exports ${known.join(', ')}` : `, did you mean ${meant}?`}`,
    )
  }
  return all.filter(({ type }) => types.includes(type))
}

/** Node's own watch mode knows which files the worker has loaded, and ends it in order before it starts it again. */
async function watched({ outlet, signal, args, options }: Call): Promise<number> {
  const { spawn = spawnSelf } = outlet
  const child = spawn(['worker', ...args, ...flagsOf(options)], { isWatched: true })
  signal.addEventListener('abort', child.stop, { once: true })
  const code = await child.ended
  return signal.aborted ? 0 : code
}
