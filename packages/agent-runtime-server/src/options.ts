import type { Client, Runtime } from '@ku0/agent-runtime'
import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type { ConsoleAssets } from './console-assets.ts'
import type { AcceptedTokens } from './access/tokens.ts'
import type { ReportSource } from './reports.ts'
import type { ServerLimits } from './limits.ts'
import type { Surroundings } from './system.ts'

/**
 * The object that a server serves: a runtime, or a client where the process runs no handlers. A client cannot replay a task, which needs its code.
 */
export type Served = Client & Partial<Pick<Runtime, 'replay'>>

/** Options of {@link createServer}. */
export interface ServerOptions {
  /**
   * The accepted tokens. Without any, everybody who reaches the server is its owner, so it answers to the names of loopback only. `'store'`: those that the
   * store holds, from a second after they were put or revoked; as long as it holds none, everybody on loopback is the owner, and nobody is let in from
   * elsewhere. A function gives the tokens of now: with one, every request needs a token, also while it gives none.
   */
  readonly tokens?: AcceptedTokens | undefined
  /**
   * Takes remote workers: processes of other machines that open `https://THIS-SERVER` as their store. The store that they work on, opened with
   * `openStore(url, { lines: true })`; most often it is the runtime's own. Source: `docs/remote-workers.md`.
   */
  readonly remoteWorkers?: ExecutionStore | undefined
  /**
   * Where the store is: for `verify` and `doctor`, which read it beside the runtime. A file needs none of that; without it, a store on PostgreSQL is not verified
   * over HTTP. Its password is in no answer.
   */
  readonly storeUrl?: string | undefined
  /** Whether routes that change something are refused to everybody. False by default. */
  readonly readOnly?: boolean | undefined
  /** Further names under which it is reached, such as `tasks.example.com`; needs tokens. Then `/ready` and `/metrics` need one, too. */
  readonly hosts?: readonly string[] | undefined
  /** Whether it is reached from other machines without a proxy: then `/health`, `/ready` and `/metrics` need a token. False by default. */
  readonly exposed?: boolean | undefined
  readonly limits?: Partial<ServerLimits> | undefined
  /**
   * Paths of what is not to be shown in answers and streams: `input.password`, `output.*.token`. Each begins with `input`, `output`,
   * `result`, `value`, `artifact`, `data` or `error`; `*` is every key and every item.
   */
  readonly redact?: readonly string[] | undefined
  /** The pages of a console, served at `/`. */
  readonly console?: ConsoleAssets | undefined
  /** Reports of the gym, which the console shows and compares; none by default. */
  readonly reports?: ReportSource | undefined
  /** Gets what went wrong inside, which answers do not say. `instance` names the request, as its answer does; there is none where no answer was under way. */
  readonly onError?: ((error: unknown, instance?: string) => void) | undefined
  /** Clock, timers, ids and chance from outside, for tests. */
  readonly environment?: Surroundings | undefined
}
