// A plugin of Stryker that loads the tests once and runs them again and again, for one change after the other. Stryker's own starts Vitest anew for each
// change, which takes a hundred times as long as the tests. Only for tests that share nothing: one that fails has to pass without the change.
import { createVitest, type Vitest } from 'vitest/node'
import { type All, type Answer, type Asked, channelOf } from './channel.ts'
import type { Verdict } from './judge.ts'

class OneProcess {
  #vitest: Vitest | undefined
  #channel: BroadcastChannel | undefined
  #answered: ((answer: Answer) => void) | undefined

  /** Nothing that is worked out while modules are loaded is changed, so that they never have to be loaded anew. */
  capabilities(): { readonly reloadEnvironment: boolean } {
    return { reloadEnvironment: true }
  }

  async init(): Promise<void> {
    const vitest = await createVitest('test', {
      config: 'tools/stryker/vitest.config.ts',
      pool: 'threads',
      maxWorkers: 1,
      watch: false,
      reporters: [],
    })
    this.#vitest = vitest
    const channel = channelOf()
    this.#channel = channel
    channel.addEventListener('message', (event) => this.#answered?.((event as MessageEvent).data as Answer))
    const specifications = await vitest.globTestSpecifications()
    vitest.provide('files', specifications.length)
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#answered = resolve
    vitest
      .runTestSpecifications(specifications)
      .then(() => reject(new Error('the tests ended before they were asked')))
      .catch(reject)
    await promise
  }

  async dryRun(): Promise<unknown> {
    const { results, coverage } = (await this.#ask('all')) as All
    return {
      status: 'complete',
      tests: results.map(({ id, name, ms, why }) => ({
        id,
        name,
        timeSpentMs: ms,
        ...(why === undefined ? { status: 0 } : { status: 1, failureMessage: why }),
      })),
      mutantCoverage: coverage,
    }
  }

  async mutantRun({ activeMutant, testFilter = [], hitLimit }: MutantRun): Promise<unknown> {
    const change = { id: activeMutant.id, tests: testFilter, hitLimit }
    const verdict = await this.#ask(change)
    if (!isSpoilt(verdict)) return verdict
    await this.dispose()
    await this.init()
    return await this.#ask({ ...change, isFresh: true })
  }

  async dispose(): Promise<void> {
    this.#channel?.postMessage('end' satisfies Asked)
    this.#channel?.close()
    await this.#vitest?.close()
  }

  async #ask(asked: Asked): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#answered = resolve
    this.#channel?.postMessage(asked)
    return await promise
  }
}

interface MutantRun {
  readonly activeMutant: { readonly id: string }
  readonly testFilter?: readonly string[]
  readonly hitLimit?: number
}

function isSpoilt(answer: Answer): answer is Extract<Verdict, { status: 'spoilt' }> {
  return typeof answer === 'object' && 'status' in answer && answer.status === 'spoilt'
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'one-process', factory: () => new OneProcess() }]
