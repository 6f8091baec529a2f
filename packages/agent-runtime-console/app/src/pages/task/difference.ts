import type { TaskDetails } from '@ku0/agent-runtime-client'

type Step = TaskDetails['steps'][number]

/** A step of two tasks: the result of each, and whether they are the same. */
export interface StepPair {
  readonly key: string
  readonly base: Step | undefined
  readonly own: Step | undefined
  readonly isSame: boolean
}

/** The steps of two tasks by their keys, in the order of the fork, then what the base alone has. */
export function pairsOf(base: readonly Step[], own: readonly Step[]): readonly StepPair[] {
  const before = new Map(base.map((step) => [step.key, step]))
  const after = new Set(own.map(({ key }) => key))
  const pair = (key: string, one: Step | undefined, other: Step | undefined): StepPair => ({
    key,
    base: one,
    own: other,
    isSame: one !== undefined && other !== undefined && isSame(one.result, other.result),
  })
  return [
    ...own.map((step) => pair(step.key, before.get(step.key), step)),
    ...base.filter(({ key }) => !after.has(key)).map((step) => pair(step.key, step, undefined)),
  ]
}

/** Whether two values are the same in JSON, whatever the order of their fields. */
export function isSame(one: unknown, other: unknown): boolean {
  return ordered(one) === ordered(other)
}

function ordered(value: unknown): string {
  return JSON.stringify(value, (_, it: unknown) =>
    typeof it === 'object' && it !== null && !Array.isArray(it)
      ? Object.fromEntries(Object.entries(it).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : it,
  )
}
