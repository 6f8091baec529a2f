import { copyFileSync, existsSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { canTrace, traced } from '../helpers/strace.ts'
import { besideTheDead, closedStoreFaults } from '../helpers/closed-store.ts'

const fixture = join(import.meta.dirname, '../fixtures/acknowledge.ts')
const { config } = parseExecutionConfig()

/** How many tasks there are in a copy of a database; they are the first ones, and the copy is sound. */
async function tasksIn(path: string): Promise<number> {
  const store = await openStore(`sqlite:${path}`, { config, thread: false })
  const { tasks } = await store.read({ kind: 'tasks', filter: { limit: 1_000 } })
  await store.close()
  expect(tasks.map(({ sequence }) => sequence).toSorted((a, b) => a - b)).toEqual(
    tasks.map((_, index) => index + 1),
  )
  expect(besideTheDead(await closedStoreFaults(path, config))).toEqual([])
  return tasks.length
}

describe('a power loss (docs/reliability.md A24)', () => {
  test('A24 whenever a process is stopped and its files are copied, the copy has all that was acknowledged', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    const child = await ChildStore.open({ path })
    const copies: { readonly copy: string; readonly acknowledged: number }[] = []
    let sent = 0
    for (let stop = 1; stop <= 5; stop++) {
      for (const until = sent + 60; sent < until; sent++)
        child.send({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
      await child.heard(({ answer }) => answer !== undefined, sent - 60 + stop * 9)
      child.signal('SIGSTOP')
      const acknowledged = child.answers.length
      const copy = join(folder, `${stop}.db`)
      for (const suffix of ['', '-wal']) copyFileSync(path + suffix, copy + suffix)
      copies.push({ copy, acknowledged })
      child.signal('SIGCONT')
    }
    await child.kill()
    for (const { copy, acknowledged } of copies)
      expect(await tasksIn(copy)).toBeGreaterThanOrEqual(acknowledged)
  })

  for (const durability of ['full', 'normal'] as const)
    test.skipIf(!canTrace)(
      `A24 ${durability}: without what was not synced by then, ${durability === 'full' ? 'all that was acknowledged is there' : 'the first of what was acknowledged are there'}`,
      async () => {
        const folder = scratchFolder()
        const path = join(folder, 'it.db')
        const first = await openStore(`sqlite:${path}`, { thread: false })
        await first.close()
        const trace = join(folder, 'trace')
        const watch = ['-y', '-s', '64', '-o', trace, '-e', 'trace=fsync,fdatasync,pwrite64,write']
        traced(watch, fixture, path, durability, '12', 'SIGKILL')
        const synced = syncedAtEach(readFileSync(trace, 'utf8').split('\n'))
        expect(synced).toHaveLength(12)
        const found: number[] = []
        for (const [index, bytes] of synced.entries()) {
          const copy = join(folder, `${index}.db`)
          for (const suffix of ['', '-wal'])
            if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix)
          truncateSync(`${copy}-wal`, bytes)
          found.push(await tasksIn(copy))
        }
        const expected = synced.map((_, index) => (durability === 'full' ? index + 1 : 0))
        expect(found).toEqual(expected)
      },
    )
})

/** The length of the log that was synced when each acknowledgement was said. */
function syncedAtEach(calls: readonly string[]): number[] {
  const synced: number[] = []
  let written = 0
  let safe = 0
  for (const call of calls) {
    const [, , bytes, offset] = /pwrite64\(\d+<[^>]*(-wal)>.*, (\d+), (\d+)\)/.exec(call) ?? []
    if (bytes !== undefined) written = Math.max(written, Number(bytes) + Number(offset))
    else if (/f(?:data)?sync\(\d+<[^>]*-wal>/.test(call)) safe = written
    else if (/write\(1.*"ok \d+/.test(call)) synced.push(safe)
  }
  return synced
}
