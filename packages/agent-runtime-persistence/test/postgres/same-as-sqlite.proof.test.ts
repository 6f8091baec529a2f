import { type OpenStore, Scene, takeSnapshot } from '@ku0/agent-runtime-conformance'
import type { WriteKind } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { emptyPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { deeds } from '../helpers/writes-of-every-kind.ts'

test.each(Object.keys(deeds) as WriteKind[])(
  'the calls around %s leave the same ids, events and hashes on PostgreSQL as in a SQLite file',
  async (kind) => {
    const file = await played(kind, ({ config, environment }) =>
      openStore('sqlite::memory:', { config, environment }),
    )
    const server = await played(kind, ({ config, environment }) => emptyPostgresStore(config, environment))
    expect(server).toEqual(file)
  },
)

/** All that a store tells of its tasks after a life that is the same each time: its time and its chance are virtual. */
async function played(kind: WriteKind, open: OpenStore): Promise<unknown> {
  let found: unknown
  await Scene.play(open, { digest: nodeDigest, quiet }, async (scene) => {
    const { write } = await deeds[kind](scene)
    await scene.write(write)
    await scene.pass(1_000)
    found = (await takeSnapshot(scene.store)).tasks
  })
  return found
}
