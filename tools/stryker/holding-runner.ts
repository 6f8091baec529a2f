// Vitest's side of tools/stryker/one-process.ts: loads each file of tests once, and holds the tests instead of running them. After the last file it runs
// what Stryker asks for.
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { pathToFileURL } from 'node:url'
import { inject, type RunnerTask, type RunnerTestCase, type RunnerTestFile, TestRunner } from 'vitest'
import { areaOf, areas } from './areas.ts'
import { type Answer, type Asked, channelOf } from './channel.ts'
import { refuseFinishers, refuseHooks } from './hooks.ts'
import { type Changed, failureOf, type HeldTest, judge, runAll } from './judge.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** So many files of tests there are. */
    files: number
  }
}

const root = path.resolve(import.meta.dirname, '../..')
const area = areaOf(process.env['STRYKER_AREA'] ?? 'core') ?? areas.core
const stryker = '__stryker__'
const global = globalThis as { [stryker]?: Changed }
const changed: Changed = (global[stryker] ??= {})
const tests = new Map<string, HeldTest>()
let files = 0

export default class HoldingRunner extends TestRunner {
  override async importFile(file: string): Promise<unknown> {
    return await import(pathToFileURL(file).href)
  }

  async onCollected(collected: readonly RunnerTestFile[]): Promise<void> {
    for (const file of collected) {
      const name = path.relative(root, file.filepath)
      refuseHooks(name, file)
      const isDirect = area.direct.some((pattern) => path.matchesGlob(name, pattern))
      for (const test of testsOf(file.tasks))
        if (test.mode === 'run' || test.mode === 'queued')
          tests.set(test.id, {
            id: test.id,
            name: `${name}: ${test.name}`,
            isDirect,
            run: () => this.#run(name, test),
          })
      file.mode = 'skip'
    }
    files += collected.length
    if (files === inject('files')) await serve()
  }

  async #run(file: string, test: RunnerTestCase): Promise<void> {
    await this.onBeforeRunTask(test)
    await TestRunner.getTestFn(test)()
    refuseFinishers(file, test)
  }
}

function testsOf(tasks: readonly RunnerTask[]): readonly RunnerTestCase[] {
  return tasks.flatMap((task) => (task.type === 'suite' ? testsOf(task.tasks) : [task]))
}

/** Answers until there is nothing left to ask. */
async function serve(): Promise<void> {
  const channel = channelOf()
  const end = Promise.withResolvers<void>()
  const answer = async (asked: Asked) => {
    if (asked === 'all') {
      changed.mutantCoverage ??= { static: {}, perTest: {} }
      const results = await runAll([...tests.values()], changed, () => performance.now())
      channel.postMessage({ results, coverage: changed.mutantCoverage })
    } else if (asked === 'end') end.resolve()
    else if ('unchanged' in asked) {
      const test = tests.get(asked.unchanged)
      channel.postMessage({ why: test === undefined ? 'it is not there' : await failureOf(test) })
    } else channel.postMessage(await judge(asked, tests, changed))
  }
  channel.addEventListener('message', (event) => {
    answer((event as MessageEvent).data as Asked).catch(end.reject)
  })
  channel.postMessage('ready' satisfies Answer)
  await end.promise
  channel.close()
}
