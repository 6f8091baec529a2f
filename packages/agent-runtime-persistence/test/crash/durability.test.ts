import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { openStore } from '../../src/index.ts'
import { readAnchor } from '../../src/sqlite/anchor.ts'
import { openDatabase } from '../../src/sqlite/open.ts'
import { commitOf, connectionOf } from '../helpers/connection-of.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { canTrace, traced } from '../helpers/strace.ts'
import { besideTheDead, closedStoreFaults } from '../helpers/closed-store.ts'

const fixture = join(import.meta.dirname, '../fixtures/acknowledge.ts')

describe('the meaning of an acknowledgement (docs/reliability.md T1, T7)', () => {
  for (const [durability, level] of [
    ['full', 2],
    ['normal', 1],
  ] as const)
    test(`T1 synchronous is ${durability} after the first write, after later ones, and on every reopening`, () => {
      const path = join(scratchFolder(), 'it.db')
      for (let opening = 0; opening < 3; opening++) {
        const { db, durability: said } = openDatabase(path, durability)
        const real = () => db.pragma('synchronous', { simple: true })
        expect([said, real(), db.pragma('journal_mode', { simple: true })]).toEqual([
          durability,
          level,
          'wal',
        ])
        for (let n = 0; n < 3; n++) {
          db.exec(`INSERT OR REPLACE INTO meta VALUES ('n', '${n}')`)
          expect(real()).toBe(level)
        }
        db.exec("BEGIN IMMEDIATE; INSERT OR REPLACE INTO meta VALUES ('n', 'x'); COMMIT")
        db.pragma('wal_checkpoint(TRUNCATE)')
        expect(real()).toBe(level)
        db.close()
      }
    })

  test('T1 a store reports the durability that was read back, full unless it is set otherwise', async () => {
    const folder = scratchFolder()
    for (const [options, durability] of [
      [{}, 'full'],
      [{ durability: 'full' }, 'full'],
      [{ durability: 'normal' }, 'normal'],
    ] as const) {
      const store = await openStore(`sqlite:${join(folder, 'it.db')}`, { ...options, thread: false })
      expect(store.info.durability).toBe(durability)
      await store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
      expect(connectionOf(store).pragma('synchronous', { simple: true })).toBe(durability === 'full' ? 2 : 1)
      await store.close()
    }
    const memory = await openStore('sqlite::memory:', { thread: false })
    expect(memory.info).toMatchObject({ durability: 'memory', kind: 'memory', location: ':memory:' })
    await memory.close()
  })

  for (const durability of draws(['full'], ['full', 'normal']))
    test.skipIf(!canTrace)(
      `T1 ${durability}: between two acknowledgements there is ${durability === 'full' ? 'an fsync of the log' : 'none'}`,
      () => {
        const folder = scratchFolder()
        const trace = join(folder, 'trace')
        const said = traced(
          ['-y', '-s', '64', '-o', trace, '-e', 'trace=fsync,fdatasync,write'],
          fixture,
          join(folder, 'it.db'),
          durability,
          '10',
        )
        expect(said.split('\n').filter((line) => line.startsWith('ok'))).toHaveLength(10)
        const calls = readFileSync(trace, 'utf8').split('\n')
        const acknowledged = calls.flatMap((line, index) => (/write\(1.*"ok \d+/.test(line) ? [index] : []))
        expect(acknowledged).toHaveLength(10)
        const syncs = acknowledged
          .slice(1)
          .map(
            (at, n) =>
              calls.slice(acknowledged[n], at).filter((line) => /f(data)?sync\(.*it\.db-wal/.test(line))
                .length,
          )
        expect(syncs.map((count) => count > 0)).toEqual(syncs.map(() => durability === 'full'))
      },
    )

  test('D04 T7 a commit that fails in the disk stops the store: nothing is acknowledged any more', async () => {
    const environment = createVirtualEnvironment('io')
    const store = await openStore('sqlite::memory:', { environment })
    const scene = new Scene(store, parseExecutionConfig().config, environment.clock)
    const claim = await scene.running()
    const commit = commitOf(store)
    const run = commit.run.bind(commit)
    commit.run = () => {
      commit.run = run
      throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' })
    }
    await expect(scene.submit()).rejects.toMatchObject({ code: 'store_io' })
    expect(scene.failures).toMatchObject([{ code: 'store_io' }])
    await expect(scene.submit()).rejects.toMatchObject({ code: 'store_io' })
    await expect(scene.settle(claim)).rejects.toMatchObject({ code: 'store_io' })
    await expect(scene.read({ kind: 'stats' })).rejects.toMatchObject({ code: 'store_io' })
    await store.close()
  })

  for (const nth of draws<readonly number[]>([], [1, 2, 5, 12]))
    test.skipIf(!canTrace)(
      `D04 T7 an fsync that fails (number ${nth} of the log) stops the store; every acknowledged commit is there`,
      async () => {
        const folder = scratchFolder()
        const path = join(folder, 'it.db')
        const first = await openStore(`sqlite:${path}`, { thread: false })
        await first.close()
        const inject = ['-P', `${path}-wal`, '-e', `inject=fsync:error=EIO:when=${nth}`]
        const said = traced(['-o', '/dev/null', ...inject], fixture, path, 'full', '40')
        const lines = said.trim().split('\n')
        const acknowledged = lines.filter((line) => line.startsWith('ok')).length
        const rest = lines.slice(acknowledged).join(', ')
        expect([`refused store_io`, 'no store_io, failed store_io, no store_io']).toContain(rest)
        expect(acknowledged).toBeLessThan(40)
        const again = await openStore(`sqlite:${path}`, { thread: false })
        const { totals } = await again.read({ kind: 'stats' })
        expect(totals.submitted).toBeGreaterThanOrEqual(acknowledged)
        expect(totals.submitted).toBeLessThanOrEqual(acknowledged + 1)
        await again.close()
        expect(besideTheDead(await closedStoreFaults(path, parseExecutionConfig().config))).toEqual([])
      },
    )

  for (const [error, nth] of draws<readonly (readonly [string, number])[]>([], [
    ['EIO', 2],
    ['EIO', 30],
    ['ENOSPC', 9],
    ['ENOSPC', 30],
  ] as const))
    test.skipIf(!canTrace)(
      `D04 a write to the log that fails (${error}, number ${nth}) is never acknowledged; what was acknowledged is there`,
      async () => {
        const path = join(scratchFolder(), 'it.db')
        const first = await openStore(`sqlite:${path}`, { thread: false })
        await first.close()
        const inject = ['-P', `${path}-wal`, '-e', `inject=pwrite64:error=${error}:when=${nth}`]
        const lines = traced(['-o', '/dev/null', ...inject], fixture, path, 'full', '40')
          .trim()
          .split('\n')
        const acknowledged = lines.filter((line) => line.startsWith('ok')).length
        const codes = error === 'EIO' ? ['store_io'] : ['store_full', 'store_io']
        const refused = lines.slice(acknowledged)
        expect(refused).not.toEqual([])
        for (const line of refused) expect(codes).toContain(line.split(' ')[1])
        const again = await openStore(`sqlite:${path}`, { thread: false })
        const { totals } = await again.read({ kind: 'stats' })
        // A full disk is room again for the last try; a broken one stops the store for good.
        expect(totals.submitted - acknowledged).toBe(refused.includes('no store_full') ? 1 : 0)
        await again.close()
      },
    )
})

describe('an anchor that there is no room for (docs/reliability.md D03)', () => {
  const tried = (call: string, when: string) => {
    const path = join(scratchFolder(), 'it.db')
    const inject = ['-P', `${path}-anchor`, '-e', `inject=${call}:error=ENOSPC:when=${when}`]
    const lines = traced(['-o', '/dev/null', ...inject], fixture, path, 'full', '40')
    return { path, lines: lines.trim().split('\n') }
  }

  const passing: readonly [call: string, when: string][] = [
    ['pwrite64', '5'],
    ['fdatasync', '1'],
  ]
  test.skipIf(!canTrace).each(draws([], passing))(
    'D03 costs nothing where there is room again before the next commit (%s)',
    (call, when) => {
      const { path, lines } = tried(call, when)
      expect(lines).toEqual(Array.from({ length: 40 }, (_, n) => `ok ${n + 1}`))
      expect(readAnchor(path)).toMatchObject({ commit: 40 })
    },
  )

  for (const when of draws<readonly string[]>([], ['5+']))
    test.skipIf(!canTrace)('D03 refuses what comes after one commit, and the store goes on', async () => {
      const { path, lines } = tried('pwrite64', when)
      // The first write is of the opening.
      expect(lines).toEqual(['ok 1', 'ok 2', 'ok 3', 'ok 4', 'no store_full', 'no store_full'])
      expect(readAnchor(path)).toMatchObject({ commit: 3 })
      const store = await openStore(`sqlite:${path}`, { thread: false })
      expect(await store.read({ kind: 'stats' })).toMatchObject({ totals: { submitted: 4 } })
      await store.close()
      expect(readAnchor(path)).toMatchObject({ commit: 4 })
    })
})

describe('time that a timer cannot hold (docs/reliability.md T11)', () => {
  test('C07 a task that is due in 2^31 ms, and one in a hundred years, starts then and not before', async () => {
    const environment = createVirtualEnvironment('long')
    const store = await openStore('sqlite::memory:', { environment })
    const scene = new Scene(store, parseExecutionConfig().config, environment.clock)
    await scene.worker('w', 2)
    const month = await scene.accepted({ delayMs: 2 ** 31 })
    const century = await scene.accepted({ delayMs: 100 * 365 * 86_400_000 })
    await scene.pass(10_000)
    expect(await scene.hasClaim()).toBe(false)
    await scene.jump(2 ** 31 - 10_001)
    expect(await scene.hasClaim()).toBe(false)
    await scene.jump(1)
    await scene.pass(100)
    const claim = await scene.claim()
    expect(claim).toMatchObject({ taskId: month })
    await scene.settle(claim)
    await scene.jump(100 * 365 * 86_400_000 - 2 ** 31)
    await scene.pass(100)
    expect(await scene.claim()).toMatchObject({ taskId: century })
    await store.close()
  })
})
