// A plugin of Stryker that loads the tests once and runs them again and again, for one change after the other. Stryker's own starts Vitest anew for each
// change, which takes a hundred times as long as the tests. Only for tests that share nothing: one that fails has to pass without the change.
import { createVitest, type Vitest } from 'vitest/node'
import { type All, type Answer, type Asked, Asker, channelOf } from './channel.ts'
import { decide, type Verdict } from './judge.ts'

/** So much of the limit of a change is left for what Stryker itself does in it. */
const marginMs = 2_000

class OneProcess {
  #vitest: Vitest | undefined
  #channel: BroadcastChannel | undefined
  #asker: Asker | undefined
  /** No test has run since they were loaded. */
  #isFresh = true

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
    const asker = new Asker((asked) => channel.postMessage(asked))
    this.#asker = asker
    channel.addEventListener('message', (event) => asker.answered((event as MessageEvent).data as Answer))
    const specifications = await vitest.globTestSpecifications()
    vitest.provide('files', specifications.length)
    const ready = asker.ask()
    vitest.runTestSpecifications(specifications).then(
      ({ unhandledErrors: [cause] }) => asker.ended(endOf(cause)),
      (error: unknown) => asker.ended(endOf(error)),
    )
    await ready
    this.#isFresh = true
  }

  async dryRun(): Promise<unknown> {
    this.#isFresh = false
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

  async mutantRun({ activeMutant, testFilter = [], hitLimit, timeout }: MutantRun): Promise<unknown> {
    const isFresh = this.#isFresh
    this.#isFresh = false
    const ends = performance.now() + timeout - marginMs
    return await decide({ id: activeMutant.id, tests: testFilter, hitLimit }, isFresh, {
      judge: async (change) => (await this.#ask(change)) as Verdict,
      failureAnew: (test) => inTime(this.#failureAnew(test), ends - performance.now()),
    })
  }

  async #failureAnew(test: string): Promise<string | undefined> {
    await this.dispose()
    await this.init()
    this.#isFresh = false
    return ((await this.#ask({ unchanged: test })) as { readonly why?: string }).why
  }

  async dispose(): Promise<void> {
    this.#channel?.postMessage('end' satisfies Asked)
    this.#channel?.close()
    await this.#vitest?.close()
  }

  async #ask(asked: Asked): Promise<Answer> {
    if (this.#asker === undefined) throw new Error('no tests are loaded')
    return await this.#asker.ask(asked)
  }
}

function endOf(cause: unknown): Error {
  const why =
    typeof cause === 'object' && cause !== null && 'message' in cause ? `: ${String(cause.message)}` : ''
  return new Error(`the worker that holds the tests has ended${why}`, { cause })
}

interface MutantRun {
  readonly activeMutant: { readonly id: string }
  readonly testFilter?: readonly string[]
  readonly hitLimit?: number
  readonly timeout: number
}

/** To load the tests anew may take longer than what is left of the limit. That is an error, since the change did not take so long. */
async function inTime<T>(loading: Promise<T>, ms: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('the tests were not loaded anew in time')), ms)
  try {
    return await Promise.race([loading, promise])
  } finally {
    clearTimeout(timer)
  }
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'one-process', factory: () => new OneProcess() }]
