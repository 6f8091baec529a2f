import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

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
