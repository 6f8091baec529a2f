import type { FailureCategory } from '@ku0/agent-runtime-core'
import type { SeededRandom } from '@ku0/agent-runtime-core/testing'

/** What a simulated task does, as data: it is the task's input. Keys are unique in a program. */
export interface Program {
  /** The number of its submission, or that of its parent with its key. */
  readonly name: string
  readonly calls: readonly Call[]
}

export type Call =
  /** Takes so long, and throws in so many of its first runs. */
  | {
      readonly call: 'step'
      readonly key: string
      readonly ms: number
      readonly throws: number
      readonly inDoubt: 'retry' | 'verify'
      /** Goes on although its signal aborts. */
      readonly deaf: boolean
    }
  | { readonly call: 'together'; readonly steps: readonly Extract<Call, { call: 'step' }>[] }
  | {
      readonly call: 'race' | 'all'
      readonly key: string
      readonly branches: readonly (readonly Call[])[]
    }
  | { readonly call: 'sleep'; readonly key: string; readonly ms: number }
  | { readonly call: 'signal'; readonly key: string; readonly timeoutMs: number | undefined }
  | {
      readonly call: 'approval'
      readonly key: string
      readonly timeoutMs: number | undefined
      /** How often it may be rejected; absent for the usual number. */
      readonly maxRetries?: number
    }
  | {
      readonly call: 'child'
      readonly key: string
      readonly program: Program
      readonly awaited: boolean
      /** What it and all below it may use up, in tokens. */
      readonly tokens: number | undefined
      readonly onParentEnd: 'cancel' | 'abandon'
    }
  /** Takes so long outside of steps. */
  | { readonly call: 'work'; readonly ms: number }
  | { readonly call: 'emit'; readonly chunk: string }
  | { readonly call: 'checkpoint'; readonly data: string }
  /** Says what it uses. */
  | { readonly call: 'report'; readonly memoryBytes: number; readonly computeUs: number }
  /** Throws in its first so many attempts. */
  | { readonly call: 'throw'; readonly attempts: number }
  /** The same with an error of these parts. */
  | { readonly call: 'fail'; readonly as: readonly FailureCategory[]; readonly attempts: number }

/** Attempts that a task type has. */
export const MAX_ATTEMPTS = 3

/** `purse` draws budgets of children; without it they have none. */
export function drawProgram(
  random: SeededRandom,
  name: string,
  purse: SeededRandom | undefined,
  depth = 0,
): Program {
  let keys = 0
  const key = (what: string) => `${what} ${(keys += 1)}`
  const step = (): Extract<Call, { call: 'step' }> => ({
    call: 'step',
    key: key('step'),
    ms: random.pick([0, 1, 5, 20, 80, 200, 700]),
    throws: random.int(6) === 0 ? 1 + random.int(2) : 0,
    inDoubt: random.int(5) === 0 ? 'verify' : 'retry',
    deaf: random.int(3) === 0,
  })
  const draw = (inBranch: boolean): Call => {
    const roll = random.int(inBranch ? 14 : 24)
    if (roll < 9) return step()
    if (roll < 11) return { call: 'sleep', key: key('sleep'), ms: random.pick([1, 30, 150, 400]) }
    if (roll < 13)
      return {
        call: 'signal',
        key: key('signal'),
        timeoutMs: random.int(3) === 0 ? random.pick([50, 300]) : undefined,
      }
    if (!inBranch && roll >= 22 && random.int(2) === 0)
      return { call: 'work', ms: random.pick([100, 400, 700]) }
    if (roll < 14) return { call: 'emit', chunk: `chunk ${keys}` }
    if (roll < 15) return { call: 'checkpoint', data: `at ${keys}` }
    if (roll < 17) return { call: 'together', steps: Array.from({ length: 2 + random.int(2) }, step) }
    if (roll < 19)
      return {
        call: random.pick(['race', 'all'] as const),
        key: key('branches'),
        branches: Array.from({ length: 2 }, () =>
          Array.from({ length: 1 + random.int(2) }, () => draw(true)),
        ),
      }
    if (roll < 21)
      return {
        call: 'approval',
        key: key('approval'),
        timeoutMs: random.int(4) === 0 ? random.pick([100, 400]) : undefined,
      }
    if (roll < 22) return { call: 'throw', attempts: 1 + random.int(MAX_ATTEMPTS) }
    if (depth === 2) return step()
    const child = key('child')
    return {
      call: 'child',
      key: child,
      program: drawProgram(random, `${name}/${child}`, purse, depth + 1),
      tokens: purse?.int(3) === 0 ? 50 + purse.int(400) : undefined,
      awaited: random.int(3) > 0,
      onParentEnd: random.int(3) === 0 ? 'abandon' : 'cancel',
    }
  }
  return { name, calls: Array.from({ length: 1 + random.int(depth === 0 ? 6 : 3) }, () => draw(false)) }
}

/** Whether it may fail by an error of its own. */
export function mayFail({ calls }: Program): boolean {
  return calls.some((it) => it.call === 'throw' && it.attempts >= MAX_ATTEMPTS)
}
