import type { Change, Changed, runAll, Verdict } from './judge.ts'

/** What is asked of the worker that holds the tests: to run all of them, to judge a change, or to end. */
export type Asked = 'all' | 'end' | Change

export type Answer = 'ready' | Verdict | All

export interface All {
  readonly results: Awaited<ReturnType<typeof runAll>>
  readonly coverage: Changed['mutantCoverage']
}

/** Between a process and its worker. */
export const channelOf = (): BroadcastChannel => new BroadcastChannel('ku0-stryker')
