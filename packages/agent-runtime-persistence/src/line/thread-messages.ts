import {
  describeError,
  RuntimeError,
  StoreError,
  toRuntimeError,
  type ErrorRecord,
  type ExecutionConfig,
  type StoreErrorCode,
  type StoreInfo,
} from '@ku0/agent-runtime-core'
import type { VerifyOptions, VerifyProgress } from '../care/verify/verification.ts'
import type { Answer, Turn } from '../engine/turn.ts'
import type { Durability } from '../durability.ts'
import type { ProcessIdentity } from '../process-identity.ts'
import type { Stance } from '../stance.ts'
import { says } from './says.ts'

/** What a store's thread is started with. */
export interface ThreadStart extends Stance {
  /** The path of a file, or the URL of a store on PostgreSQL. */
  readonly path: string
  readonly config: ExecutionConfig
  readonly durability: Durability
  readonly acceptLoss: boolean
  readonly existing: boolean
  readonly identity: ProcessIdentity
  readonly lines: boolean
  /**
   * Six 32-bit words. `wake` rises with every message to the thread, `beat` while the process's event loop lives; `hint` is 1 when a process may have
   * committed; `others` says how many other processes the thread knows of; `rest`
   * is 1 while this process holds no lease, and `heard` is 1 while commits of others are reported by the file system.
   */
  readonly signal: SharedArrayBuffer
}

/** What the same thread is started with to look after a store, and do nothing else. */
export type CareStart =
  | {
      /** The URL of the store. */
      readonly verifies: string
      /** The folder for the copy of a store on PostgreSQL. Whoever starts the thread removes it. */
      readonly folder?: string
      readonly options: Omit<VerifyOptions, 'signal' | 'onProgress'>
    }
  | { readonly inspects: string }

/** What it says then. The message that it may get ends it early. */
export type FromCare<Report> =
  | { readonly kind: 'progress'; readonly progress: VerifyProgress }
  | { readonly kind: 'done'; readonly report: Report }
  | { readonly kind: 'refused'; readonly error: ErrorRecord }

export const wakeWord = 0
export const beatWord = 1
export const hintWord = 2
export const othersWord = 3
export const restWord = 4
export const heardWord = 5
export const signalBytes = 24

/** The last message to the thread; no other is this text, since what an outbox holds is a list. */
export const endMessage = 'end'

/** What a store's thread says. An error crosses as its record, since a copy of it would lose its class and code. */
export type FromThread =
  | { readonly kind: 'opened'; readonly info: StoreInfo }
  | { readonly kind: 'refused'; readonly error: ErrorRecord }
  /** A PackedTurn as JSON: one text is cloned in a third of the time that its objects take. */
  | { readonly kind: 'turn'; readonly turn: string }
  | { readonly kind: 'closed' }

/** A turn on its way, as plain data. */
export interface PackedTurn extends Omit<Turn, 'answers' | 'failed'> {
  readonly answers: readonly Exclude<Answer, { readonly error: Error }>[]
  readonly errors: readonly { readonly call: number; readonly error: ErrorRecord }[]
  readonly failed?: ErrorRecord
}

/** A turn as it crosses to the process's main thread; undefined when it says nothing. */
export function pack(said: Turn): string | undefined {
  if (!says(said)) return undefined
  const { failed, answers, ...turn } = said
  const good: Exclude<Answer, { error: Error }>[] = []
  const errors: { call: number; error: ErrorRecord }[] = []
  for (const answer of answers)
    if ('error' in answer) errors.push({ call: answer.call, error: recordOf(answer.error) })
    else good.push(answer)
  const packed: PackedTurn = {
    ...turn,
    answers: good,
    errors,
    ...(failed === undefined ? {} : { failed: recordOf(failed) }),
  }
  return JSON.stringify(packed)
}

/** Unpacks a message of {@link pack}. An answer that was `undefined` has lost its `value`, and so is undefined again. */
export function unpack(text: string): Turn {
  return unpacked(JSON.parse(text) as PackedTurn)
}

/** The same for one that is plain data already. */
export function unpacked({ errors, failed, answers, ...turn }: PackedTurn): Turn {
  return {
    ...turn,
    answers: [...answers, ...errors.map(({ call, error }) => ({ call, error: revived(error) }))],
    ...(failed === undefined ? {} : { failed: revived(failed) }),
  }
}

/** An error as it crosses: with its details, which the store itself made of plain data. */
export function recordOf(error: unknown): ErrorRecord {
  const record = describeError(error)
  return error instanceof RuntimeError ? { ...record, details: error.details } : record
}

/** The error a record tells of, with the store's class where the code is the store's. */
export function revived(record: ErrorRecord): Error {
  const error = toRuntimeError(record)
  if (!error.code.startsWith('store_')) return error
  return new StoreError(error.code as StoreErrorCode, record.message, {
    details: error.details,
    cause: error.cause,
  })
}
