import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../src/place/postgres-server.ts'

test.each(['process.exit(0)', "process.kill(process.pid, 'SIGTERM')"])(
  'a PostgreSQL server that was not stopped leaves with its process, and so do its files: %s',
  (end) => {
    const folder = mkdtempSync(join(tmpdir(), 'temporary-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    // The server may run as another user, who comes to its files here.
    chmodSync(folder, 0o755)
    const program = `
      const { startPostgres } = await import('${new URL('../src/place/postgres-server.ts', import.meta.url).href}')
      await startPostgres({ fsync: false })
      ${end}`
    const { status, stderr } = spawnSync(
      process.execPath,
      ['--no-warnings', '--input-type=module', '-e', program],
      { env: { ...process.env, TMPDIR: folder }, encoding: 'utf8', timeout: 100_000 },
    )
    expect([stderr, status === null]).toEqual(['', false])
    expect(readdirSync(folder)).toEqual([])
  },
)

test('a PostgreSQL server that the kernel has killed is started again, and leaves nothing behind', async () => {
  const within = mkdtempSync(join(tmpdir(), 'temporary-'))
  onTestFinished(() => rmSync(within, { recursive: true, force: true }))
  chmodSync(within, 0o755)
  const server = await startPostgres({ fsync: false, within })
  const [folder = ''] = readdirSync(within)
  const lock = join(within, folder, 'data', 'postmaster.pid')
  /** Its lock stays, and names a process that is gone. */
  const kill = async () => {
    const pid = Number(readFileSync(lock, 'utf8').split('\n')[0])
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => isThere(pid), { timeout: 10_000 }).toBe(false)
  }
  await kill()
  // It does not start while one of the others of the killed server is there.
  const restarts = () =>
    server.restart().then(
      () => true,
      () => false,
    )
  await expect.poll(restarts, { timeout: 20_000 }).toBe(true)
  await kill()
  await server.stop()
  expect(readdirSync(within)).toEqual([])
})

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
