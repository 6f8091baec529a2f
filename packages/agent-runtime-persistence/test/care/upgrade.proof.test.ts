import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { Program } from '../helpers/program.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'
import { config, asOfVersion } from './upgrade.test.ts'

describe('a migration that is cut (docs/reliability.md A16)', () => {
  /** A store of the first version with a task. */
  async function firstVersion(folder: string): Promise<string> {
    const store = await openStore(`sqlite:${join(folder, 'later.db')}`, { config, durability: 'normal' })
    await store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    await store.close()
    const path = join(folder, 'first.db')
    asOfVersion(1, join(folder, 'later.db'), path)
    return path
  }

  test.each(['SIGCONT', 'SIGKILL'] as const)(
    'A16 another process waits for it, and goes on when the one that migrates gets %s',
    async (signal) => {
      const path = await firstVersion(scratchFolder())
      const half = new Program('migrate.ts', path, '2')
      await half.said('half')
      const other = new Program('migrate.ts', path)
      await other.said('begins')
      expect(new Set(other.lines)).toEqual(new Set(['begins']))
      half.child.kill(signal)
      await other.said('opened')
      await half.ended
      expect(half.lines.at(-1)).toBe(signal === 'SIGCONT' ? 'opened' : 'half')
      await assertClosedStore(path, config)
    },
  )
})
