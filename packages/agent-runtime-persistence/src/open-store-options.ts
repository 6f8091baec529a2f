import { type Environment, type ExecutionConfigInput } from '@ku0/agent-runtime-core'
import type { Durability } from './durability.ts'
import { type SettingsMode } from './stance.ts'

export interface OpenStoreOptions {
  /** Track AA's settings and the rest; each has a default. */
  readonly config?: ExecutionConfigInput | undefined
  /** `full` (default): an acknowledged write survives a power loss on storage that honours fsync. `normal`: a crash of the process only. */
  readonly durability?: Durability | undefined
  /**
   * Open a store although commits are missing that were acknowledged (`store_data_loss`), and go on with what is there; false by
   * default. The store keeps a record of it. Source: `docs/operating.md`, Lost commits.
   */
  readonly acceptLoss?: boolean | undefined
  /**
   * Open only a store that is there and needs no migration; false by default. Else it rejects, with `not_found` or, for a store of an older version, with
   * `store_schema`, and nothing is written. A remote store is one that is there.
   */
  readonly existing?: boolean | undefined
  /** In its own thread (default), or in the caller's: then an fsync blocks the event loop. */
  readonly thread?: boolean | undefined
  /**
   * Look at each call before the store gets it (default). Without it a call that is not what the port says may stop the store:
   * for programs whose calls are made by code alone, as the runtime's are, and which are many.
   */
  readonly checked?: boolean | undefined
  /**
   * Whether remote workers may use this store over lines, which a server gives them (`docs/remote-workers.md`). False by default; a store that is
   * itself remote has none.
   */
  readonly lines?: boolean | undefined
  /** The token for a remote store, `https://HOST`, with the scope `work`. */
  readonly token?: string | undefined
  /**
   * `stated` (default): the settings of the store that `config` names hold for all processes, as those that came last; without any, those of others are
   * taken. `followed`: those of others are taken, and its own hold where nobody states any. `own`: its own hold for this process alone, and nobody else
   * learns of them. Source: `docs/semantics.md 8.12`.
   */
  readonly settings?: SettingsMode | undefined
  /** Time, chance and ids from outside, for tests; the store then runs in the caller's thread. */
  readonly environment?: Environment | undefined
}
