import { Client } from 'pg'
import { startPostgres } from '../../../agent-gym/src/place/postgres-server.ts'

/**
 * A real PostgreSQL for tests: the one that `KU0_TEST_POSTGRES_URL` names, or one of its own, which ends with {@link PostgresServer.stop}.
 * `KU0_TEST_POSTGRES_POOLER` names a pooler in front of the first, which stores are reached through.
 */
export class PostgresServer {
  readonly url: string
  readonly stop: () => Promise<void>

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url
    this.stop = stop
  }

  static async start(): Promise<PostgresServer> {
    const given = process.env['KU0_TEST_POSTGRES_URL']
    if (given !== undefined) return new PostgresServer(given, () => Promise.resolve())
    const { url, stop } = await startPostgres({ fsync: false })
    return new PostgresServer(url, stop)
  }

  /** The URL of a store of its own, which is not there yet. */
  newStore(): string {
    stores += 1
    const url = new URL(process.env['KU0_TEST_POSTGRES_POOLER'] ?? this.url)
    url.searchParams.set('schema', `store_${process.pid}_${Date.now().toString(36)}_${stores}`)
    return url.href
  }

  /** A connection for looking at what is stored. */
  async connect(url: string): Promise<Client> {
    const client = new Client({ connectionString: this.url })
    await client.connect()
    await client.query(`SET search_path TO ${new URL(url).searchParams.get('schema') ?? ''}`)
    return client
  }
}

let stores = 0
let shared: Promise<PostgresServer> | undefined

/** One server for all test files of a process. It ends with the process. */
export function sharedServer(): Promise<PostgresServer> {
  shared ??= PostgresServer.start()
  return shared
}
