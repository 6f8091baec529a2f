import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

const workspace = resolve(import.meta.dirname, '../..')
/** The handlers of the others are in another language. */
const examples = globSync('examples/*', { cwd: workspace })
  .filter((folder) => typesIn(folder).length > 0)
  .toSorted()

/** What an example's `test/sweep.ts` exports: all of its tasks, and the sweep that crashes them. */
interface Sweep {
  readonly tasks: readonly { readonly type: string }[]
  readonly sweep: () => Promise<{ readonly commits: number; readonly crashedAfter: readonly number[] }>
}

/** The types of the tasks that an example's sources define. */
function typesIn(folder: string): string[] {
  const files = globSync('src/**/*.ts', { cwd: join(workspace, folder) })
  const types = files.flatMap((file) => {
    const source = readFileSync(join(workspace, folder, file), 'utf8')
    const defined = /\bdefine(?:Task|Graph|Supervisor|Pipeline)\(\s*\{\s*(?:type|name): '([^']+)'/g
    return [...source.matchAll(defined)].map(([, type = '']) => type)
  })
  return [...new Set(types)].toSorted()
}

describe('every example ends the same after a crash at every commit', () => {
  beforeEach(() => void vi.spyOn(console, 'log').mockReturnValue())
  afterEach(() => void vi.restoreAllMocks())

  test.each(examples)('%s', { timeout: 120_000 }, async (folder) => {
    const file = join(workspace, folder, 'test/sweep.ts')
    expect(
      existsSync(file),
      `${folder}/test/sweep.ts is missing: it exports the example's tasks, and a sweep of crashes over them`,
    ).toBe(true)
    const { tasks, sweep } = (await import(file)) as Sweep
    const types = tasks.map(({ type }) => type).toSorted()
    expect(types).toEqual(typesIn(folder))
    const { commits, crashedAfter } = await sweep()
    expect(commits).toBeGreaterThan(1)
    expect(crashedAfter).toEqual(Array.from({ length: commits }, (_, index) => index + 1))
  })

  test('and there are some', () => {
    expect(examples.length).toBeGreaterThan(9)
  })
})
