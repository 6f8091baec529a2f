import { copyFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment, VirtualClock } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { commitOf, connectionOf } from '../helpers/connection-of.ts'
import { contents, leave } from '../helpers/contents.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'

const { config } = parseExecutionConfig({ maxInlineBytes: 500 })
const large = JSON.stringify('x'.repeat(9_000))

async function openScene(path: string, seed: string): Promise<Scene> {
  const clock = new VirtualClock()
  const environment = { ...createVirtualEnvironment(seed), clock, timers: clock, digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
  return new Scene(store, config, clock, { digest: nodeDigest })
}

/** Some of everything that makes a commit large or small. */
async function live(scene: Scene): Promise<void> {
  await scene.worker('w', 2)
  await scene.submit({ idempotencyKey: 'a', input: large })
  await scene.submitMany(40, { lane: 'batch' })
  const claim = await scene.claim()
  await scene.step(claim, 'first', large)
  await scene.write({ kind: 'checkpoint', leaseId: claim.leaseId, data: large })
  await scene.settle(claim, { as: 'retry', error: '{}', delayMs: 0 })
  scene.free('w')
  const again = await scene.claim()
  await scene.settle(again, { as: 'completed', output: large })
  scene.free('w')
  await scene.cancel((await scene.claim()).taskId, 'enough')
}

/** A page and its head in the log. */
const frame = 4_096 + 24

describe('a process that is killed between two writes to its files (docs/reliability.md A18)', () => {
  test('A18 a commit that is cut at any write leaves nothing, and the store opens', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'original.db')
    const scene = await openScene(path, 'original')
    const commits: { before: string; log: number; after: string }[] = []
    const statement = commitOf(scene.store)
    const commit = statement.run.bind(statement)
    const lengthOf = (file: string) => (existsSync(file) ? readFileSync(file).length : 0)
    statement.run = () => {
      const before = leave(path, join(folder, `${commits.length} before`))
      const outcome = commit()
      const after = leave(path, join(folder, `${commits.length} after`))
      commits.push({ before, log: lengthOf(`${before}-wal`), after })
      return outcome
    }
    await live(scene)
    await scene.store.close()
    expect(commits.length).toBeGreaterThan(10)

    let cuts = 0
    for (const [index, { before, log, after }] of commits.entries()) {
      const [old, whole] = [contents(leave(before, join(folder, `${index} old`))), lengthOf(`${after}-wal`)]
      const done = contents(leave(after, join(folder, `${index} done`)))
      if (old === done) continue
      for (let length = log; length < whole; length += frame / 2) {
        const cut = leave(after, join(folder, `${index} cut ${length}`))
        copyFileSync(`${before}-anchor`, `${cut}-anchor`)
        truncateSync(`${cut}-wal`, length)
        expect([index, length, contents(cut) === old]).toEqual([index, length, true])
        cuts += 1
      }
      const torn = leave(after, join(folder, `${index} torn`))
      copyFileSync(`${before}-anchor`, `${torn}-anchor`)
      truncateSync(`${torn}-wal`, whole - frame / 2)
      const next = await openScene(torn, `after ${index}`)
      expect(await next.violations()).toEqual([])
      await next.store.close()
    }
    expect(cuts).toBeGreaterThan(100)
  })

  test('A18 a log that is copied into the database is there as a whole, whichever page was the last', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'original.db')
    const scene = await openScene(path, 'original')
    await live(scene)
    const before = leave(path, join(folder, 'before'))
    const log = readFileSync(`${before}-wal`)
    connectionOf(scene.store).pragma('wal_checkpoint(FULL)')
    const [old, copied] = [readFileSync(before), readFileSync(path)]
    await scene.store.close()
    const all = contents(leave(before, join(folder, 'all')))
    const pages = copied.length / 4_096
    expect(pages).toBeGreaterThan(20)
    for (let page = 0; page <= pages; page += 1) {
      const cut = leave(before, join(folder, `page ${page}`))
      const written = page * 4_096
      writeFileSync(cut, Buffer.concat([copied.subarray(0, written), old.subarray(written)]))
      writeFileSync(`${cut}-wal`, log)
      expect([page, contents(cut) === all]).toEqual([page, true])
    }
  })
})
