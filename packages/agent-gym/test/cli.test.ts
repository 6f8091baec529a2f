import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runCommand } from '../src/cli/run-command.ts'
import { exitCode } from '../src/cli/exit-code.ts'
import { pathBases, resolvePath, workspaceRoot } from '../src/cli/paths.ts'
import { defaults, readRunOptions } from '../src/cli/run-options.ts'

const root = resolve(import.meta.dirname, '../../..')
const gym = join(root, 'packages/agent-gym')

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gym-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

describe("gym:run's flags", () => {
  const read = (...args: string[]) => readRunOptions(args, { INIT_CWD: root }, gym)
  const trackAA =
    '-- --suite easy --category execution-scale --benchmarks packages/agent-gym/benchmarks/q4 --report packages/agent-gym/reports/q4-execution-scale.json'.split(
      ' ',
    )

  it("take Track AA's command verbatim, from the workspace root", () => {
    expect(read(...trackAA)).toMatchObject({
      suite: 'easy',
      categories: ['execution-scale'],
      benchmarks: join(gym, 'benchmarks/q4'),
      report: join(gym, 'reports/q4-execution-scale.json'),
    })
  })

  it("mean Track AA's command when there are none, wherever they are called", () => {
    expect(read()).toEqual(read(...trackAA))
    expect(readRunOptions([], {}, tmpdir())).toEqual(read(...trackAA))
  })

  it.each([
    [['--siute', 'easy'], '--suite'],
    [['--suite', 'eazy'], 'did you mean "easy"?'],
    [['--store', 'sqlit'], 'did you mean "sqlite"?'],
    [['--store', 'postgres'], 'there is no PostgreSQL store yet'],
    [['--min-score', 'high'], 'a score is a number from 0 to 100'],
    [['--seed', '1.5'], 'a seed is a whole number'],
    [['--benchmarks', 'nowhere'], 'no such file or folder'],
    [['--baseline', 'nowhere.json'], 'no such file or folder'],
    [['--speedup', '2'], 'needs --trace'],
    [['easy'], 'too many arguments'],
    [['--report'], 'argument missing'],
  ])('are refused with a hint: %j', (args, hint) => {
    expect(() => read(...args)).toThrow(hint)
  })

  it('find an id in any suite', () => {
    expect(read('--only', 'chaos-10000', '--only', 'zombie')).toMatchObject({
      suite: 'all',
      categories: [],
      only: ['chaos-10000', 'zombie'],
    })
    expect(read('--only', 'x', '--suite', 'hard')).toMatchObject({ suite: 'hard' })
  })

  it('replay a trace alone unless something else was chosen', () => {
    const trace = join(temporaryFolder(), 't.csv')
    writeFileSync(trace, '')
    expect(read('--trace', trace, '--speedup', '10')).toMatchObject({ trace, speedup: 10, traceAlone: true })
    expect(read('--trace', trace, '--suite', 'easy')).toMatchObject({ traceAlone: false })
  })
})

describe('a relative path', () => {
  it('is looked for where the user was, then in the working folder, then in the workspace', () => {
    expect(pathBases({ INIT_CWD: '/home/me' }, gym)).toEqual(['/home/me', gym, root])
    expect(pathBases({}, gym)).toEqual([gym, root])
    expect(workspaceRoot('/')).toBeUndefined()
  })

  it('is taken where most of it exists', () => {
    const there = new Set(['/a', '/b', '/b/x', '/c', '/c/x', '/c/x/y'])
    const find = (path: string) => resolvePath(path, ['/a', '/b', '/c'], (name) => there.has(name))
    expect(find('x/y')).toBe('/c/x/y')
    expect(find('x/new.json')).toBe('/b/x/new.json')
    expect(find('new.json')).toBe('/a/new.json')
    expect(find('/z/new.json')).toBe('/z/new.json')
  })

  it('makes a new report from inside the package land in the package', () => {
    expect(resolvePath(defaults.report, [gym, root])).toBe(join(gym, 'reports/q4-execution-scale.json'))
  })
})

describe("gym:run's answers", () => {
  const run = async (args: string[], abort?: AbortSignal) => {
    const said = { out: '', err: '' }
    const stream = (name: 'out' | 'err') => ({ write: (text: string) => (said[name] += text) })
    const code = await runCommand(
      args,
      { INIT_CWD: root },
      gym,
      { out: stream('out'), err: stream('err') },
      abort ?? new AbortController().signal,
    )
    return { code, ...said }
  }

  it('are 2 and one line for a wrong command line', async () => {
    expect(await run(['--suite', 'eazy'])).toMatchObject({
      code: exitCode.usage,
      err: expect.stringMatching(/did you mean "easy"/),
    })
    expect(await run(['--store', 'postgres'])).toMatchObject({ code: exitCode.usage })
    expect(await run(['--category', 'execution-scales'])).toMatchObject({
      code: exitCode.usage,
      err: expect.stringMatching(/did you mean "execution-scale"/),
    })
  })

  it('are 1 where no scenario is found', async () => {
    const empty = temporaryFolder()
    expect(await run(['--benchmarks', empty])).toMatchObject({
      code: exitCode.failed,
      err: expect.stringContaining('No scenario found'),
    })
    expect(await run(['--only', 'zombi'])).toMatchObject({
      code: exitCode.failed,
      err: expect.stringContaining('did you mean "zombie"?'),
    })
  })

  it('are 2 for a file that is no scenario', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'q4'))
    writeFileSync(join(folder, 'q4', 'bad.json'), '{"id": "Bad Id"}')
    const { code, err } = await run(['--benchmarks', join(folder, 'q4')])
    expect(code).toBe(exitCode.usage)
    expect(err).toContain('bad.json: not a scenario')
    expect(err).not.toContain('    at ')
  })
})
