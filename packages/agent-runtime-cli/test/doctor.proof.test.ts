import { expect, test } from 'vitest'
import { sharedServer } from '../../agent-runtime-persistence/test/helpers/postgres-server.ts'
import { runIn } from './stores-and-shells.ts'

test('doctor tries a server of PostgreSQL, and says what fails and what to do', async () => {
  const url = new URL((await sharedServer()).newStore())
  url.password ||= 'secret'
  const { code, out } = await runIn({}, 'doctor', url.href)
  expect(out).toMatch(/^postgres:\/\/.*: a store can/)
  expect(out).toMatch(
    /\nworks +tasks from end to end +always +40 tasks of two processes in \d+ ms, and they verify\n/,
  )
  expect(out).not.toContain('secret')
  // It ends with 65 where the server does not sync.
  expect([0, 65]).toContain(code)
  expect(code === 65).toBe(/\nfails +durability .*\n[^]*\ndurability: turn fsync /.test(out))
  url.searchParams.set('options', '-c default_transaction_read_only=on')
  const readOnly = await runIn({}, 'doctor', '--json', url.href)
  expect(readOnly.code).toBe(65)
  const report = JSON.parse(readOnly.out) as { ok: boolean; checks: { name: string; ok: boolean | null }[] }
  expect(report.checks.find(({ name }) => name === 'writable')).toMatchObject({
    ok: false,
    found: 'read-only',
  })
})
