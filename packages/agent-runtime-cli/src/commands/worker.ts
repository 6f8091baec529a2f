import { rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { suggestionFor } from '@ku0/agent-runtime-core'
import type { TaskDefinition } from '@ku0/agent-runtime'
import type { Call, Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { flagsOf } from '../flags.ts'
import { spawnSelf } from '../spawn.ts'
import { requireTaskTypes } from '../task-types.ts'
import type { WorkerCall } from '../worker/worker-call.ts'

export const run: Run = async (call) => {
  const [module] = call.args
  const { watch = false, readyFile } = call.options as {
    readonly watch?: boolean
    readonly readyFile?: string
  }
  if (watch) return watched(call)
  const settings = await call.settings(module === undefined ? {} : { tasks: module })
  const { definitions, file } = await requireTaskTypes(settings, 'worker')
  const tasks = chosen(definitions, settings.worker.types, file)
  const folder = call.outlet.folder ?? process.cwd()
  const ready = (isReady: boolean) => {
    if (readyFile === undefined) return
    if (isReady) writeFileSync(resolve(folder, readyFile), `${process.pid}\n`)
    else rmSync(resolve(folder, readyFile), { force: true })
  }
  const given: WorkerCall = { call, settings, file, tasks, ready }
  try {
    switch (settings.worker.mode) {
      case 'daemon':
        return await (await import('../worker/daemon.ts')).runDaemon(given)
      case 'job':
        return await (await import('../worker/job.ts')).runJob(given)
      case 'hybrid':
        return await (await import('../worker/hybrid.ts')).runHybrid(given)
    }
  } finally {
    ready(false)
  }
}

/** The definitions of the types that were asked for. */
function chosen(
  all: readonly TaskDefinition[],
  types: readonly string[],
  file: string,
): readonly TaskDefinition[] {
  if (all.length === 0) throw new UsageError(`${file} exports no task type with a handler`)
  if (types.includes('*')) return all
  const known = all.map(({ type }) => type)
  for (const type of types) {
    if (known.includes(type)) continue
    const meant = suggestionFor(type, known)
    throw new UsageError(
      `${file} exports no task type ${type}${meant === undefined ? `; it exports ${known.join(', ')}` : `, did you mean ${meant}?`}`,
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
