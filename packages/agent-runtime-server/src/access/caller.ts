import { refusal } from '../problem/problem.ts'
import type { Scope } from './token-options.ts'

/** The caller of a request. */
export interface Caller {
  readonly name: string
  readonly scopes: ReadonlySet<Scope>
  /** The client of the fair shares that it is bound to. */
  readonly client?: string
  /** The task types that it is bound to. */
  readonly types?: ReadonlySet<string>
  /** When its token ends, epoch ms. */
  readonly expiresAt?: number
}

/** Everybody who reaches a server that has no tokens, which only loopback does. */
export const owner: Caller = { name: 'owner', scopes: new Set<Scope>(['admin']) }

/** Whether a caller may do what needs a scope; `admin` may do everything. */
export function allows(caller: Caller, scope: Scope): boolean {
  return caller.scopes.has(scope) || caller.scopes.has('admin')
}

/** Whether a caller sees only a part of the tasks. */
export function isBound(caller: Caller): boolean {
  return caller.client !== undefined || caller.types !== undefined
}

/** Whether a task is among those that a caller sees. */
export function sees(
  caller: Caller,
  task: { readonly type: string; readonly client?: string | undefined },
): boolean {
  if (caller.client !== undefined && caller.client !== task.client) return false
  return allowsType(caller, task.type)
}

/** Whether a caller may run, see and act on tasks of a type. */
export function allowsType({ types }: Caller, type: string): boolean {
  return types?.has(type) ?? true
}

/** Throws where a caller may not start or end a task of a type. */
export function assertType(caller: Caller, type: string, place: string): void {
  if (!allowsType(caller, type))
    throw refusal(
      'forbidden',
      `${place}: the token is bound to the task types ${[...(caller.types ?? [])].join(', ')}`,
    )
}
