import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exitCode } from '../src/cli/exit-code.ts'
import { pathBases, resolvePath, workspaceRoot } from '../src/cli/paths.ts'
import { defaults, readRunOptions } from '../src/cli/run-options.ts'
import { gym, root, run, runQuick, temporaryFolder } from './gym-run.ts'

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
    [['--store', 'postgres://db.example'], 'A server is postgres://USER:PASSWORD@HOST:PORT/DATABASE'],
    [['--store', 'postgres://db.example/gym?schema=mine'], 'without a schema'],
    [['--min-score', 'high'], 'a score is a number from 0 to 100'],
    [['--seed', '1.5'], 'a seed is a whole number'],
    [['--baseline', 'nowhere.json'], '--baseline: no such file'],
    [['--baseline', 'packages'], 'packages is no regular file'],
    [['--trace', 'nowhere.csv'], '--trace: no such file'],
    [['--trace', 'x'.repeat(300)], '--trace: no such file'],
    [['--trace', 'packages'], 'packages is no regular file'],
    [['--processes', '0'], 'a number of processes is a whole number from 1 to 100'],
    [['--speedup', '2'], 'needs --trace'],
    [['--evidence', '--json'], 'choose what is printed'],
    [['easy'], 'too many arguments'],
    [['--report'], 'argument missing'],
  ])('are refused with a hint: %j', (args, hint) => {
    expect(() => read(...args)).toThrow(hint)
  })

  it('name a PostgreSQL server, or leave it to the environment, or to the gym', () => {
    const url = 'postgres://me:secret@db.example/gym'
    expect(read('--store', url)).toMatchObject({ store: 'postgres', server: url })
    expect(read('--store', 'postgres')).toMatchObject({ store: 'postgres', server: undefined })
    const given = { INIT_CWD: root, KU0_TEST_POSTGRES_URL: url }
    expect(readRunOptions(['--store', 'postgres'], given, gym)).toMatchObject({ server: url })
    expect(readRunOptions([], given, gym)).toMatchObject({ store: 'sqlite', server: undefined })
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

const reportPlace = () => join(temporaryFolder(), 'r.json')

describe("gym:run's answers", () => {
  it('G12 are 2 and one line for a wrong command line', async () => {
    expect(await run(['--suite', 'eazy'])).toMatchObject({
      code: exitCode.usage,
      err: expect.stringMatching(/did you mean "easy"/),
    })
    expect(await run(['--store', 'postgres://'])).toMatchObject({ code: exitCode.usage })
    expect(await run(['--benchmarks', 'nowhere'])).toMatchObject({
      code: exitCode.usage,
      err: expect.stringContaining('--benchmarks: no such folder'),
    })
    expect(await run(['--category', 'execution-scales'])).toMatchObject({
      code: exitCode.usage,
      err: expect.stringMatching(/did you mean "execution-scale"/),
    })
  })

  it('are 2 for a PostgreSQL server that does not answer, before anything runs', async () => {
    const url = 'postgres://me:secret@127.0.0.1:1/gym'
    const { code, err } = await run(['--only', 'lane-order', '--store', url, '--report', reportPlace()])
    expect(code).toBe(exitCode.usage)
    expect(err).toContain('--store: postgres://me@127.0.0.1:1/gym cannot be used: ')
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

  it('are 1 at once where one id of several is unknown', async () => {
    const { code, out, err } = await run(['--only', 'lane-order', '--only', 'zombi', '--only', 'nonsense'])
    expect({ code, out }).toEqual({ code: exitCode.failed, out: '' })
    expect(err).toBe(
      'No scenario found: none has the id "zombi"; did you mean "zombie"?\n' +
        'No scenario found: none has the id "nonsense".\n',
    )
  })

  it('are 2 for a baseline that is no report, before anything runs', async () => {
    const file = join(temporaryFolder(), 'b.json')
    writeFileSync(file, '{')
    const { code, out, err } = await run(['--only', 'lane-order', '--baseline', file])
    expect({ code, out }).toEqual({ code: exitCode.usage, out: '' })
    expect(err).toContain(`--baseline: ${file}`)
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

describe('a file for evidence', () => {
  it.each([
    ['a file that holds something else', 'other.json', 'holds no results of scenarios'],
    ['a folder that is not there', 'no/kept.json', 'cannot be written'],
  ])('is refused before anything runs for %s', async (_, name, reason) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'other.json'), '[{}]')
    const keep = ['--keep', join(folder, name)]
    const { code, out, err } = await runQuick(folder, join(folder, 'r.json'), undefined, keep)
    expect({ code, out }).toEqual({ code: exitCode.usage, out: '' })
    expect(err).toMatch(new RegExp(`^--keep: .*${reason}`))
  })
})

describe('a report that cannot be written', () => {
  it.each([
    ['below a file', 'file/x.json', 'file is a file, not a folder'],
    ['deep below a file', 'file/new/x.json', 'file is a file, not a folder'],
    ['where a device is', 'device', 'device is there and is no regular file'],
    ['where a folder is', 'folder', 'folder is there and is no regular file'],
    ['whose page would be a folder', 'taken.json', 'taken.html is there and is no regular file'],
    ['which its own page would replace', 'x.html', 'a name that ends in .json'],
    ['with too long a name', `${'x'.repeat(300)}.json`, 'ENAMETOOLONG'],
  ])('X07 is refused before anything runs: %s', async (_, name, reason) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'file'), 'kept')
    mkdirSync(join(folder, 'folder'))
    mkdirSync(join(folder, 'taken.html'))
    symlinkSync('/dev/null', join(folder, 'device'))
    const { code, out, err } = await runQuick(folder, join(folder, name))
    expect({ code, out }).toEqual({ code: exitCode.usage, out: '' })
    expect(err).toMatch(/^--report: .*; give /)
    expect(err).toContain(reason)
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('kept')
  })
})
