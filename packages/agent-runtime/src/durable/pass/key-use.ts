import { type StepRecord, type WaitKind, type WaitRecord } from '@ku0/agent-runtime-core'
import { type Scope } from './scope.ts'

/** A method of the context: the stack frame above it is the place of its call. */
export type Callee = (...args: never[]) => unknown

/** A call that uses a key. */
export interface KeyUse {
  readonly key: string
  readonly as: 'step' | WaitKind
  /** The hash of the input that a step declares. */
  readonly inputHash?: string | undefined
  /** The name of the signal that it waits for. */
  readonly signal?: string | undefined
  /** It runs branches, which share its position. */
  readonly branches?: 'race' | 'all'
  readonly scope: Scope
  readonly callee: Callee
}

/** The place of a call in its pass, and its answer from the history. */
export interface Use {
  readonly position: number
  readonly memo: StepRecord | undefined
  readonly wait: WaitRecord | undefined
}
