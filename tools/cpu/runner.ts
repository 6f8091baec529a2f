// Runs in each worker, for each file of tests: loads it by Node alone, leaves out the long tests whose turn it is not, and measures what processor time the rest takes.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type RunnerTestSuite, TestRunner } from 'vitest'
import { firstOf, keepTurn } from '../ci/turns.ts'
import { isNeeded } from '../ci/each-landing.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of a test file, with the processes that it started and waited for, in seconds. */
    cpuSeconds?: number
  }
}

/** Where the packages of the workspace are, by what is written in an import: each has one place, whoever imports it. */
const packages = new Map<string, string>()
const ours = pathToFileURL(resolve(import.meta.dirname, '../../packages')).href

/** A module of ours that imports another by its whole name, or one of Node's, needs no search, and Vitest need not be told of each import. */
registerHooks({
  resolve(name, context, next) {
    if (name.startsWith('node:')) return { url: name, format: 'builtin', shortCircuit: true }
    const from = context.parentURL
    if (name.startsWith('@ku0/') && from?.startsWith(ours) && context.conditions.includes('import')) {
      const known = packages.get(name)
      if (known !== undefined) return { url: known, shortCircuit: true }
      const found = next(name, context)
      packages.set(name, found.url)
      return found
    }
    if (!/^\.\.?\/.*\.ts$/.test(name) || from === undefined || from.includes('/node_modules/'))
      return next(name, context)
    return { url: new URL(name, from).href, shortCircuit: true }
  },
})

const workspace = resolve(import.meta.dirname, '../..')
/** Of a landing: tools/test.ts. */
const turn = process.env['TEST_TURN']

/** Of the worker, up to the end of its last file. The first one's share holds the worker's own start. */
let before = 0

export default class Runner extends TestRunner {
  /** Each file is loaded once in a worker. Vitest would add a time to its address, under which no run finds compiled code. */
  override async importFile(file: string): Promise<unknown> {
    const loaded: unknown = await import(pathToFileURL(file).href)
    if (turn !== undefined && file.endsWith('.proof.test.ts')) leaveOut(Number(turn))
    return loaded
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onAfterRunSuite(suite)
    if (!('filepath' in suite)) return
    const now = cpuSeconds()
    suite.meta.cpuSeconds = now - before
    before = now
  }
}

/** Has the file that was loaded collect only the tests of this turn. */
function leaveOut(theTurn: number): void {
  const root = TestRunner.getCurrentSuite()
  const { collect } = root
  root.collect = async (file) => {
    root.collect = collect
    const suite = await collect(file)
    const path = relative(workspace, file.filepath)
    keepTurn(suite.tasks, theTurn, firstOf(path), isNeeded(path))
    // Else it would run the hooks around its tests for nothing.
    if (suite.tasks.length === 0) file.mode = 'skip'
    return suite
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
