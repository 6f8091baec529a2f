import type {
  Claim,
  ErrorRecord,
  EventType,
  ExecutionConfig,
  StoreInfo,
  UsageSum,
} from '@ku0/agent-runtime-core'
import type { LogLevel } from '../api/logger.ts'
import type { Stop } from '../lease/cancellation.ts'

/** What a worker has that only the module of an isolated task can bring into a runner: functions do not cross. */
export interface Brought {
  /** Its codecs, as `name@version`. */
  readonly codecs: readonly string[]
  /** Whether it has a `payloadCodec`. */
  readonly isSealed: boolean
  /** Whether it has a rule `rateLimited`. */
  readonly hasRateLimited: boolean
}

/** A task for a runner. */
export interface RunOrder {
  readonly kind: 'run'
  readonly module: string
  readonly claim: Claim
  readonly config: ExecutionConfig
  readonly info: StoreInfo
  readonly isStrict: boolean
  readonly brought: Brought
}

/** Why the handler has to stop, as its worker says it. */
export type StopWord =
  | { readonly how: 'cancel'; readonly reason?: string | undefined }
  | { readonly how: 'lose' }
  | { readonly how: 'fail'; readonly reason: string }
  | { readonly how: 'timeOut'; readonly timeoutMs: number }
  | { readonly how: 'exceed'; readonly message: string }
  | { readonly how: 'shutDown' }

/** What a worker says to a runner. Everything crosses as JSON. */
export type ToRunner =
  | RunOrder
  | ({ readonly kind: 'stop' } & StopWord)
  | { readonly kind: 'yield' }
  | { readonly kind: 'ping' }
  | { readonly kind: 'answer'; readonly id: number; readonly outcome?: unknown; readonly error?: ErrorRecord }

/** What a runner asks of its worker. Fields that hold values are texts in the codec's form. */
export type Ask =
  | { readonly call: 'write' | 'read'; readonly it: Readonly<Record<string, unknown>> }
  | { readonly call: 'heartbeat'; readonly report: string }
  | {
      readonly call: 'prepare'
      readonly task: unknown
      readonly rest: string
      readonly place: string
      readonly parentType: string
    }

/** What a runner says to its worker. */
export type FromRunner =
  /** It has the order, and begins. */
  | { readonly kind: 'taken' }
  /** The module is loaded. */
  | { readonly kind: 'loaded' }
  /** The module cannot run the task. */
  | { readonly kind: 'refused'; readonly error: ErrorRecord }
  | { readonly kind: 'entered' }
  | { readonly kind: 'stopping'; readonly why: Stop['kind'] }
  /** What the handler has used, before a write records it. */
  | { readonly kind: 'charged'; readonly usage: UsageSum }
  | { readonly kind: 'slotFree' }
  | { readonly kind: 'halted'; readonly why: Stop['kind']; readonly afterMs: number }
  /** Everything that the task started has ended: the runner is free. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'pong' }
  | { readonly kind: 'ask'; readonly id: number; readonly ask: Ask }
  | {
      readonly kind: 'announce'
      readonly type: EventType
      readonly taskId: string
      readonly seq: number
      readonly data: Readonly<Record<string, unknown>>
    }
  | {
      readonly kind: 'log'
      readonly level: LogLevel
      readonly message: string
      readonly fields?: Readonly<Record<string, unknown>> | undefined
      readonly author?: 'handler' | undefined
    }
  /** An error that nobody caught: the process ends. */
  | { readonly kind: 'uncaught'; readonly error: ErrorRecord }
