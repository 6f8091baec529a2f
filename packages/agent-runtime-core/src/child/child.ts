import { RESERVED } from '../wait/wait.ts'

/**
 * The treatment of a child that still runs when its parent ends, or when the branch that spawned it is
 * stopped.
 */
export const childPolicies = ['cancel', 'abandon'] as const
export type ChildPolicy = (typeof childPolicies)[number]

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

/** The child that such a timer is beside the wait for. */
export function patientFor(key: string): string {
  return key.slice(key.indexOf('/', PATIENCE.length) + 1)
}

const PATIENCE = `${RESERVED}patience/`
const CHILD_NAMES = `${RESERVED}child/`
