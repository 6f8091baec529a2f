import { z } from 'zod'
import { RESERVED } from './wait.ts'

/** What becomes of a child that still runs when its parent ends, or the branch that spawned it is given up. */
export const childPolicies = ['cancel', 'abandon'] as const
export type ChildPolicy = (typeof childPolicies)[number]

/** A child as its parent remembers it: the memo of `ctx.spawn`. Source: `docs/semantics.md 5.5`. */
export const ChildRecord = z.strictObject({
  /** What the parent calls it, once in its life. */
  key: z.string(),
  /** The place of the call in its pass through the handler, from 0. */
  position: z.int().min(0),
  taskId: z.string(),
  type: z.string(),
  policy: z.enum(childPolicies),
  /** The seq of the event that is this memo. */
  seq: z.int().min(1),
})
export type ChildRecord = z.infer<typeof ChildRecord>

/** The name under which a child's end arrives at its parent. */
export function childName(key: string): string {
  return `${CHILD_NAMES}${key}`
}

/** The child that a wait of this name is for. */
export function childKeyOf(name: string): string {
  return name.slice(CHILD_NAMES.length)
}

/** Whether what arrives under a name is a child's end. */
export function isChildName(name: unknown): boolean {
  return typeof name === 'string' && name.startsWith(CHILD_NAMES)
}

/** The key of the `nth` timer, from 1, of those who do not want to wait for a child any longer. */
export function patienceKey(key: string, nth: number): string {
  return `${PATIENCE}${nth}/${key}`
}

/** Whether a wait is the timer of somebody who waits for a child. */
export function isPatience(key: string): boolean {
  return key.startsWith(PATIENCE)
}

/** The child that somebody with such a timer waits for. */
export function patienceFor(key: string): string {
  return key.slice(key.indexOf('/', PATIENCE.length) + 1)
}

const PATIENCE = `${RESERVED}patience/`
const CHILD_NAMES = `${RESERVED}child/`
