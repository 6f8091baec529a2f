// Runs a test of the store on PostgreSQL through a real pooler in transaction mode, PgBouncer: processes share tasks, and are killed. It installs
// nothing: without `pgbouncer` (Debian: `apt-get install pgbouncer`) it fails.
//
//   node tools/pooler/test.ts [OPTION OR FILE...]
//
// Takes the options of tools/test.ts. The database is reached with `pooler=transaction`, and has fewer connections than the processes open.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../packages/agent-gym/src/place/free-port.ts'
import { startPostgres } from '../../packages/agent-gym/src/place/postgres-server.ts'

const workspace = resolve(import.meta.dirname, '../..')
const given = process.argv.slice(2).filter((arg) => arg !== '--')
const folder = 'packages/agent-runtime-persistence/test/postgres'
const files = given.some((arg) => arg.endsWith('.ts')) ? [] : [`${folder}/pooler.proof.test.ts`]

console.log(release())
const server = await startPostgres({ fsync: false })
const pooler = await startPooler(new URL(server.url))
let code = 1
try {
  const child = spawn(process.execPath, [join(workspace, 'tools/test.ts'), '--proof', ...files, ...given], {
    cwd: workspace,
    stdio: 'inherit',
    env: {
      ...process.env,
      KU0_TEST_POSTGRES_URL: server.url,
      KU0_TEST_POSTGRES_POOLER: `${pooler.url}?pooler=transaction`,
    },
  })
  const [status] = (await once(child, 'exit')) as [number | null]
  code = status ?? 1
} finally {
  await pooler.stop()
  await server.stop()
}
// The server's package has a hook of its own that would end this process with 0.
process.exit(code)

function release(): string {
  const { stdout, error } = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' })
  if (error === undefined) return stdout.split('\n')[0] ?? ''
  console.error('there is no pgbouncer on this machine; install it (Debian: apt-get install pgbouncer)')
  return process.exit(1)
}

async function startPooler({ hostname, port, pathname, username, password }: URL) {
  const place = mkdtempSync(join(tmpdir(), 'pgbouncer-'))
  chmodSync(place, 0o755)
  const listens = await freePort()
  const settings = join(place, 'pgbouncer.ini')
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${port} user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listens}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 500
ignore_startup_parameters = options
`,
  )
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0
  const child = spawn('pgbouncer', ['-q', settings], {
    stdio: ['ignore', 'ignore', 'inherit'],
    ...(isRoot ? { uid: idOf('nobody') } : {}),
  })
  const ended = once(child, 'exit')
  await answers(listens)
  return {
    url: `postgres://${username}@127.0.0.1:${listens}${pathname}`,
    stop: async () => {
      child.kill('SIGINT')
      await Promise.race([ended, sleep(5_000).then(() => child.kill('SIGKILL'))])
      rmSync(place, { recursive: true, force: true })
    },
  }
}

function idOf(user: string): number {
  return Number(execFileSync('id', ['-u', user], { encoding: 'utf8' }))
}

async function answers(port: number): Promise<void> {
  for (let tries = 0; ; tries += 1)
    try {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.destroy()
      return
    } catch (error) {
      if (tries === 100) throw new Error('pgbouncer does not listen', { cause: error })
      await sleep(50)
    }
}
