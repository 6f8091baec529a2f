import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ChildStore } from '../helpers/child-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { inspect, submission } from './inspect.test.ts'

describe('an inspection', () => {
  test('the doctor of a store in use lists its processes, and which of them are dead', async () => {
    const path = join(scratchFolder(), 'it.db')
    const [one, two] = [await ChildStore.open({ path }), await ChildStore.open({ path })]
    one.send(submission)
    await one.heard(({ answer }) => answer !== undefined)
    expect((await inspect(path)).processes).toMatchObject([{ alive: true }, { alive: true }])
    // The second cannot declare the first one dead before it dies itself.
    two.signal('SIGSTOP')
    await one.kill()
    await two.kill()
    const found = await inspect(path)
    expect(found.processes).toMatchObject([{ alive: false }, { alive: false }])
    expect(found.size.walBytes).toBeGreaterThan(0)
    expect(found.problems.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('2 processes ended without closing the store'),
    )
  })
})
