import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { ConfigWarning, ExecutionConfig, ExecutionStore } from '@ku0/agent-runtime-core'
import type { PoolOptions, ProcessPool } from './api/pool.ts'
import type { StopOptions, StopReport } from './api/stop.ts'
import { depthOf } from './pool/depth.ts'
import { limitsOf } from './pool/limits.ts'
import { ProcessCrew } from './pool/process-crew.ts'
import { ScalingPool } from './pool/scaling-pool.ts'
import { stopOnSignals } from './process-signals.ts'
import { surroundingsOf } from './surroundings.ts'
import { closeWithin, patienceOf } from './worker/shutdown.ts'
import { Stopping } from './worker/stopping.ts'

/** Puts a pool of processes together around a store that is being opened for it alone. */
export async function composePool(
  checked: {
    readonly options: PoolOptions
    readonly config: ExecutionConfig
    readonly warnings: readonly ConfigWarning[]
  },
  given: ExecutionStore | Promise<ExecutionStore>,
): Promise<ProcessPool> {
  const { options, warnings } = checked
  const { capacity, types, lanes, durability, config } = options
  const { environment, log } = surroundingsOf(options, false, warnings)
  const { clock, timers } = environment
  const store = await given
  const crew = new ProcessCrew({
    entry: createRequire(import.meta.url).resolve('@ku0/agent-runtime/pool-worker'),
    start: {
      store: options.store,
      module: moduleUrl(options.module),
      capacity,
      types,
      lanes,
      durability,
      config,
    },
    clock,
    died: (death) => pool.died(death),
    drained: (drain) => pool.drained(drain),
  })
  const limits = limitsOf(options)
  const pool = new ScalingPool({
    crew,
    limits,
    depth: (enough) => depthOf(store, clock, enough, { types: crew.types, lanes }),
    clock,
    timers,
    log,
    resized: () => crew.forgive(),
  })
  const stopping = new Stopping()
  const stop = async (how: StopOptions, hurry: Promise<void>): Promise<StopReport> => {
    // Its workers end by themselves within this time, whatever their store does; one whose event loop is blocked does not.
    const { drainGraceMs, killGraceMs, cleanupTimeoutMs } = checked.config
    const terms = { drainGraceMs, killGraceMs: killGraceMs + TOLD_MS, cleanupTimeoutMs }
    using patience = patienceOf(hurry, { config: terms, environment }, how)
    await Promise.race([pool.close(), patience.graceOver, hurry])
    const report = await pool.stopping(() => crew.stop(how, Promise.race([hurry, patience.over])))
    await closeWithin(patience, () => store.close(), { log, released: report.released })
    watching?.[Symbol.dispose]()
    return report
  }
  try {
    await Promise.all(Array.from({ length: limits.min }, () => pool.start('below_min')))
  } catch (error) {
    await crew.stop({ drain: false }, new Promise(() => undefined))
    throw error
  }
  pool.open()
  const ask = (how: StopOptions = {}) => stopping.ask(how, stop)
  const watching = options.signals === true ? stopOnSignals({ stop: ask }, log) : undefined
  return Object.assign(pool.face, {
    stop: ask,
    [Symbol.asyncDispose]: async () => void (await (stopping.isBegun ? stopping.report : ask())),
  })
}

/** How long a worker process may take to say how it ended. */
const TOLD_MS = 1_000

function moduleUrl(module: string | URL): string {
  const text = String(module)
  return /^[a-z][a-z\d+.-]+:/i.test(text) ? text : pathToFileURL(text).href
}
