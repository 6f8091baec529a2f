import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { draws, everyNth } from '../draws.ts'

const workspace = resolve(import.meta.dirname, '../..')
/** The handlers of the others are in another language. */
const examples = globSync('examples/*', { cwd: workspace })
  .filter((folder) => typesIn(folder).length > 0)
  .toSorted()

/** With up to a hundred commits each: a landing crashes these after every twelfth one, each night after all. */
const long = new Set(['09-streaming-chat', '12-web-testing', '13-contract-review', '14-security-audit'])

/** What an example's `test/sweep.ts` exports: all of its tasks, and the sweep that crashes them, after every commit or every nth. */
interface Sweep {
  readonly tasks: readonly { readonly type: string }[]
  readonly sweep: (
    every?: number,
  ) => Promise<{ readonly commits: number; readonly crashedAfter: readonly number[] }>
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

  test.each(examples)('%s', { timeout: 600_000 }, async (folder) => {
    const file = join(workspace, folder, 'test/sweep.ts')
    expect(
      existsSync(file),
      `${folder}/test/sweep.ts is missing: it exports the example's tasks, and a sweep of crashes over them`,
    ).toBe(true)
    const { tasks, sweep } = (await import(file)) as Sweep
    const types = tasks.map(({ type }) => type).toSorted()
    expect(types).toEqual(typesIn(folder))
    const every = long.has(basename(folder)) ? draws(12, 12, 1) : 1
    const { commits, crashedAfter } = await sweep(every)
    expect(commits).toBeGreaterThan(1)
    const all = Array.from({ length: commits }, (_, index) => index + 1)
    expect(crashedAfter).toEqual(everyNth(all, every))
  })

  test('there are examples', () => {
    expect(examples.length).toBeGreaterThan(9)
  })
})
