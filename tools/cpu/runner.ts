// Runs in each worker, for each file of tests: loads it by Node alone, and measures what processor time it takes.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { type RunnerTestSuite, TestRunner } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of a test file, with the processes that it started and waited for, in seconds. */
    cpuSeconds?: number
  }
}

/** A module of ours that imports another by its whole name, or one of Node's, needs no search, and Vitest need not be told of each import. */
registerHooks({
  resolve(name, context, next) {
    if (name.startsWith('node:')) return { url: name, format: 'builtin', shortCircuit: true }
    const from = context.parentURL
    if (!/^\.\.?\/.*\.ts$/.test(name) || from === undefined || from.includes('/node_modules/'))
      return next(name, context)
    return { url: new URL(name, from).href, shortCircuit: true }
  },
})

/** Of the worker, up to the end of its last file. The first one's share holds the worker's own start. */
let before = 0

export default class Runner extends TestRunner {
  /** Each file is loaded once in a worker. Vitest would add a time to its address, under which no run finds compiled code. */
  override importFile(file: string): Promise<unknown> {
    return import(pathToFileURL(file).href)
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onAfterRunSuite(suite)
    if (!('filepath' in suite)) return
    const now = cpuSeconds()
    suite.meta.cpuSeconds = now - before
    before = now
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6 + childrensSeconds()
}

/** Of processes that ended and were waited for; only Linux says it. */
function childrensSeconds(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[13]) + Number(fields[14])) / 100
  } catch {
    return 0
  }
}
