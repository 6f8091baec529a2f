import type {
  ErrorRecord,
  Interest,
  Lane,
  Read,
  StoreInfo,
  TypeSettings,
  Write,
} from '@ku0/agent-runtime-core'
import type { PackedTurn } from '../line/thread-messages.ts'

/** The version of what passes over a line. One that differs is refused by name. Source: `docs/remote-workers.md`. */
export const LINE_VERSION = 2

/** Where a server has its lines. */
export const LINE_PATH = '/api/v1/line'

/** The facts that a server gives about its lines before one is opened. */
export interface LineOffer {
  readonly versions: readonly number[]
  /** Whether a connection may be a WebSocket; long polls always work. */
  readonly webSocket: boolean
}

/** The first word of a process on a new connection. */
export interface Hello {
  readonly version: number
  /** A secret that it has drawn; whoever knows it is this process. */
  readonly session: string
  readonly processId: string
  readonly workers: readonly HelloWorker[]
  /** The leases that it holds as far as it knows. */
  readonly leases: readonly { readonly leaseId: string; readonly taskId: string }[]
  readonly interest: Interest
}

/** A worker of a process that comes, or comes back. */
export interface HelloWorker {
  readonly workerId: string
  readonly capacity: number
  readonly types: readonly string[]
  /** The lanes that it takes tasks from; all where it names none. */
  readonly lanes?: readonly Lane[] | undefined
  /** Its settings of its task types, for others to compare. */
  readonly settings?: Readonly<Record<string, TypeSettings>> | undefined
  readonly draining: boolean
  /** Its standing demand, and how many tasks it has received so far; without it, it has stated none. */
  readonly demand?: { readonly credit: number; readonly given: number }
}

/** A message of a process to the store. */
export type UpMessage =
  | { readonly to: 'write'; readonly call: number; readonly operation: Write; readonly again?: true }
  | { readonly to: 'read'; readonly call: number; readonly query: Read }
  | { readonly to: 'demand'; readonly workerId: string; readonly credit: number }
  | { readonly to: 'interest'; readonly interest: Interest }
  | { readonly to: 'ping'; readonly ping: number }

/** One text that goes up. `acked`: the answers to all calls up to this one have arrived. */
export type UpFrame =
  | { readonly hello: Hello }
  | { readonly acked: number; readonly messages: readonly UpMessage[] }

/** The answer to {@link Hello}. */
export interface Welcome {
  readonly info: Omit<StoreInfo, 'location' | 'processId'>
  readonly leaseTtlMs: number
  readonly heartbeatIntervalMs: number
  /** A connection on which nothing came for so long is closed by either end. */
  readonly silentMs: number
  /** How often the process shows that it lives; twice as long while it holds no lease and waits for no answer. */
  readonly pingMs: number
  /** Calls that may wait for their answers at once. */
  readonly maxCalls: number
  /** The longest frame, in bytes of UTF-8. */
  readonly maxFrameBytes: number
}

/** One text that comes down. A turn stands in it as `pack` makes it. */
export type DownFrame =
  | { readonly welcome: Welcome; readonly turn?: PackedTurn }
  | { readonly turn: PackedTurn }
  | { readonly pong: number }
  /** The connection ends. `final`: another one would be refused, too. */
  | { readonly refused: ErrorRecord; readonly final: boolean }
