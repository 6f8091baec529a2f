import type { Lane, Place } from '../system.ts'

/** What a process of a run is asked to do. */
export type Role =
  | { readonly role: 'fill'; readonly from: number; readonly count: number; readonly limitMs: number }
  | { readonly role: 'submit'; readonly limitMs: number }
  | {
      readonly role: 'drain'
      /** How many tasks are waited for, of those with these numbers. */
      readonly count: number
      readonly among: number
      readonly steps: number
      readonly atOnce?: number
      readonly limitMs: number
    }
  | { readonly role: 'pick-up'; readonly warmUp: number; readonly count: number; readonly limitMs: number }
  /** Runs tasks, and says when each began, until it is told to stop. */
  | { readonly role: 'worker' }
  /** Submits one task after the other, each when the one before has begun in the other process. */
  | { readonly role: 'submitter'; readonly warmUp: number; readonly count: number; readonly limitMs: number }
  /** Begins so many tasks and never ends them. */
  | { readonly role: 'hang'; readonly count: number }
  /** Submits the requests of a file when they are due, and runs them with so many workers of that capacity. */
  | {
      readonly role: 'replay'
      readonly requests: string
      readonly workers: number
      readonly atOnce: number
      readonly limitMs: number
    }
  /** Picks up so many tasks, one after the other, while so many others run. */
  | { readonly role: 'among'; readonly others: number; readonly count: number; readonly limitMs: number }
  /**
   * Lets so many tasks come to their wait, as many as do within `fillMs`; lets them wait; picks up others beside them; wakes some. Each of the
   * last two takes no longer than `limitMs`.
   */
  | {
      readonly role: 'wait'
      readonly count: number
      readonly fillMs: number
      readonly idleMs: number
      readonly pickUps: number
      readonly wakes: number
      readonly limitMs: number
    }
  /** Runs a task that does not wait, in a store where tasks below `count` wait; it may have to submit it itself. */
  | {
      readonly role: 'beside'
      readonly count: number
      readonly task: number
      readonly submits: boolean
      readonly limitMs: number
    }
  /** Runs tasks until so many have begun; it may have to submit them itself. */
  | { readonly role: 'begin'; readonly count: number; readonly submits: boolean; readonly limitMs: number }

/** A task of a replay: when it comes, in which lane, and how long its handler waits. */
export interface Request {
  readonly afterMs: number
  readonly lane: Lane
  readonly ms: number
}

export interface Assignment {
  readonly system: string
  readonly place: Place
  readonly work: Role
}

/** What a process says on the way. Times are of the monotonic clock that all processes of a machine share, in ms. */
export type Said =
  | { readonly said: 'ready' }
  | { readonly said: 'began'; readonly task: number; readonly at: number }
  | { readonly said: 'result'; readonly figures: Figures }
  | { readonly said: 'failed'; readonly reason: string }

/** Figures by name: rates per second, times in ms, CPU in s, memory in MiB. */
export type Figures = Readonly<Record<string, number>>

export function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
