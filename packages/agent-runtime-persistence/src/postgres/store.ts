import type { Environment, ExecutionConfig } from '@ku0/agent-runtime-core'
import { Engine } from '../engine/engine.ts'
import type { EngineSetting } from '../engine/engine-setting.ts'
import { AsyncLine } from '../line/async-line.ts'
import type { Turn } from '../engine/turn.ts'
import type { ProcessIdentity } from '../process-identity.ts'
import type { GivenStance } from '../stance.ts'
import { Connections } from './connection/connections.ts'
import { PostgresDatabase } from './database.ts'
import { loadDriver } from './connection/driver.ts'
import { parsePostgresUrl } from './connection/url.ts'

export interface PostgresStoreOptions extends GivenStance {
  readonly url: string
  readonly config: ExecutionConfig
  readonly environment: Environment
  readonly chain: EngineSetting['chain']
  readonly identity: ProcessIdentity
  /** Whether workers of other machines come over lines. */
  readonly lines?: boolean
  /** Open it although commits are missing that were acknowledged. */
  readonly acceptLoss?: boolean
  /** Neither make it nor migrate it. */
  readonly existing?: boolean
  readonly isVirtual: boolean
  readonly stalledMs: () => number
}

/** Opens a store on PostgreSQL and runs it. Throws a StoreError that says what is wrong and what to do; nothing is left open then. */
export async function openPostgresLine(
  options: PostgresStoreOptions,
  hearer: { receive(turn: Turn): void },
): Promise<AsyncLine> {
  const { url, config, environment, chain, identity, lines = false, acceptLoss = false } = options
  const { existing = false, isVirtual, stalledMs, states, follows } = options
  const place = parsePostgresUrl(url)
  const connections = new Connections(await loadDriver(), place, environment.timers)
  let line: AsyncLine | undefined
  let engine: Engine | undefined
  const database = await PostgresDatabase.open({
    connections,
    config,
    environment,
    hashes: { chain, sha256Hex: (text) => environment.digest.sha256Hex(text) },
    identity,
    lines,
    acceptLoss,
    existing,
    states,
    isVirtual,
    onHint: () => line?.hint(),
    looksAt: (news) => engine?.isConcerned(news) ?? true,
    onReach: (reach) => {
      engine?.reach(reach)
      line?.wake()
    },
  })
  engine = new Engine(database, { config, environment, chain, stalledMs, states, follows })
  line = new AsyncLine(engine, hearer, environment)
  return line
}
