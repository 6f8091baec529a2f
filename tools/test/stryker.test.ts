import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { areas, textsOf } from '../stryker/areas.ts'
import { Asker } from '../stryker/channel.ts'
import { type DrawLine, drawnOf, drawOf, placeOf } from '../stryker/draw.ts'
import { HooksNotRunError, refuseFinishers, refuseHooks } from '../stryker/hooks.ts'
import { type Changed, decide, type HeldTest, type Holder, judge, runAll } from '../stryker/judge.ts'
import { problemOfKept, readOptions } from '../stryker/options.ts'
import { intervalOf, type Sample, sampleOf, samplePageOf, shortfallOf } from '../stryker/sample.ts'
import {
  digestOf,
  evidenceOf,
  freshOf,
  gaps,
  kept,
  scoresOf,
  shortfalls,
  unmeasuredOf,
  type KeptScore,
} from '../stryker/scores.ts'

const mutant = (status: string, line = 1, mutatorName = 'BooleanLiteral') => ({
  mutatorName,
  replacement: 'a | b',
  status,
  location: { start: { line } },
})
const folder = 'packages/core/src'
const reported = (file: string, ...statuses: readonly string[]) => ({
  [`/somewhere/${folder}/${file}`]: { mutants: statuses.map((status, index) => mutant(status, index + 1)) },
})

const of = (commit: string, scores: ReturnType<typeof scoresOf>) =>
  scores.map((score) => ({ ...score, commit, date: '2026-01-01', machine: 'one' }))
/** The page on the day of the runs. */
const pageOf = (scores: readonly KeptScore[], same?: Parameters<typeof evidenceOf>[2]) =>
  evidenceOf(
    scores.map((it) => ({ ...it, text: digestOf('') })),
    new Map(scores.map(({ file }) => [file, ''])),
    same,
  )

test('each file counts as in the last of several runs', () => {
  const files = (...all: readonly ReturnType<typeof reported>[]) =>
    scoresOf({ files: Object.assign({}, ...all) }, folder)
  const first = of('a', files(reported('b.ts', 'Survived'), reported('a.ts', 'Killed')))
  const second = of('b', files(reported('c.ts', 'Killed'), reported('b.ts', 'Killed')))
  const all = kept(first, second)
  expect(all.map(({ file, commit, unnoticed }) => [file, commit, unnoticed.length])).toEqual([
    ['a.ts', 'a', 0],
    ['b.ts', 'b', 0],
    ['c.ts', 'b', 0],
  ])
  expect(pageOf(all)).toContain('| noticed  | 3: 100.0 % |')
})

test('a file of which nothing counted in its last run has no score any more', () => {
  const files = (...all: readonly ReturnType<typeof reported>[]) =>
    scoresOf({ files: Object.assign({}, ...all) }, folder)
  const first = of('a', files(reported('a.ts', 'Killed'), reported('b.ts', 'Survived')))
  const second = of('b', files(reported('b.ts', 'Ignored')))
  expect(kept(first, second).map(({ file }) => file)).toEqual(['a.ts'])
})

test('a noticed change counts, an undecidable one does not, and an unnoticed one is named', () => {
  const files = reported(
    'decide/order.ts',
    'Killed',
    'Timeout',
    'Survived',
    'NoCoverage',
    'Ignored',
    'CompileError',
  )
  const scores = scoresOf({ files: { ...files, ...reported('index.ts', 'Ignored') } }, folder)
  expect(scores).toEqual([
    {
      file: 'decide/order.ts',
      noticed: 2,
      timedOut: 1,
      unnoticed: ['3: BooleanLiteral, `a \\| b`', '4: BooleanLiteral, `a \\| b`'],
    },
    { file: 'index.ts', noticed: 0, timedOut: 0, unnoticed: [] },
  ])
  const page = pageOf(of('abc', scores))
  expect(page).toContain('| noticed  | 2: 50.0 %, of which 1 by tests that did not end in time |')
  expect(page).toContain('- decide/order.ts:3: BooleanLiteral')
})

test('too few changes that are noticed are said, and each that nobody notices where all have to be', () => {
  const killed = Array.from({ length: 30 }, () => 'Killed')
  const scores = (...files: readonly ReturnType<typeof reported>[]) =>
    scoresOf({ files: Object.assign({}, ...files) }, folder)
  expect(shortfalls(scores(reported('lane.ts', ...killed, 'Survived')))).toEqual([])
  expect(shortfalls(scores(reported('lane.ts', 'Killed', 'Survived')))).toEqual([
    '50.0 % of the changes are noticed, 96 % have to be',
  ])
  expect(shortfalls(scores(reported('task/states.ts', ...killed, 'Survived')))).toEqual([
    'nobody notices task/states.ts:31: BooleanLiteral, `a \\| b`',
  ])
})

test('a change to a comparison that nobody notices is said, unless it is known to be the same; one that is not there is not known', () => {
  const killed = Array.from({ length: 30 }, () => mutant('Killed'))
  const scores = scoresOf(
    { files: { [`${folder}/lane.ts`]: { mutants: [...killed, mutant('Survived', 7, 'EqualityOperator')] } } },
    folder,
  )
  expect(shortfalls(scores, {})).toEqual(['nobody notices lane.ts:7: EqualityOperator, `a \\| b`'])
  const known = { 'lane.ts': { 'a \\| b': 'they are never equal' }, 'other.ts': { 'a < b': 'nor are they' } }
  expect(shortfalls(scores, known)).toEqual([])
  expect(pageOf(of('abc', scores), known)).toContain('| lane.ts | `a \\| b` | they are never equal |')
  const two = { 'lane.ts': { ...known['lane.ts'], 'c <= d': 'they are always equal' } }
  expect(shortfalls(scores, two)).toEqual([
    'lane.ts: `c <= d` is noticed, or is no more: take it from the list of those that cannot be',
  ])
})

describe('the record of the last long runs', () => {
  const root = path.join(import.meta.dirname, '../..')
  const read = (name: string) => readFileSync(path.join(root, 'docs/evidence', name), 'utf8')
  const last = JSON.parse(read('stryker.json')) as readonly KeptScore[]
  const draws = JSON.parse(read('stryker-sample.json')) as readonly Sample[]
  const git = (args: readonly string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout

  test('lacks nothing in the files that are as they were, and is of files that there are', () => {
    const texts = textsOf(areas.core, root)
    expect(gaps(freshOf(last, texts))).toEqual([])
    expect(last.map(({ file }) => file).filter((file) => !texts.has(file))).toEqual([])
  })

  // A commit that no branch holds is in the clone of whoever made it, and in no other.
  test('names commits of this history, where all of it is at hand', () => {
    const commits = [...new Set([...last, ...draws].map(({ commit }) => commit))]
    const isWhole = git(['rev-parse', '--is-shallow-repository']).startsWith('false')
    const history = new Set(git(['rev-list', 'HEAD']).split('\n'))
    expect(commits.filter((it) => isWhole && !history.has(it))).toEqual([])
  })

  test('says of each change that the last draw has not noticed what came of it', () => {
    expect(read('stryker-sample.md')).not.toContain('not looked into yet')
  })
})

test('a file that has changed since it was measured is stale: its row stays, and counts in no sum', () => {
  const scores = scoresOf(
    {
      files: Object.assign(
        {},
        reported('a.ts', 'Killed', 'Survived'),
        reported('b.ts', 'Killed', 'Survived'),
        reported('c.ts', 'Killed'),
      ),
    },
    folder,
  )
  const [a, b, c] = of('abc', scores) as [KeptScore, KeptScore, KeptScore]
  const all = [{ ...a, text: digestOf('one') }, { ...b, text: digestOf('two') }, c]
  const texts = new Map([
    ['a.ts', 'one'],
    ['b.ts', 'two and more'],
    ['c.ts', 'three'],
  ])
  expect(freshOf(all, texts).map(({ file }) => file)).toEqual(['a.ts'])
  expect(freshOf(all, new Map())).toEqual([])
  const page = evidenceOf(all, texts)
  expect(page).toContain('| noticed  | 1: 50.0 % |')
  expect(page).toContain('| stale files | 2 |')
  expect(page).toContain('| a.ts | 2 | 50.0 % | all | abc | 2026-01-01 | as it was |')
  expect(page).toContain('| b.ts | 2 | 50.0 % | all | abc | 2026-01-01 | stale |')
  expect(page).toContain('- a.ts:2: ')
  expect(page).not.toContain('- b.ts:2: ')
})

test('a file with functions and without a score is not measured, and the page says so', () => {
  const texts = new Map([
    ['a.ts', 'export function a() {}'],
    ['b.ts', 'export const b = (c: number) => c'],
    ['port.ts', 'export interface Port { a: (b: number) => void }\nexport const max = 1'],
    ['c.ts', 'function c() {}'],
  ])
  const scores = scoresOf({ files: reported('a.ts', 'Killed') }, folder)
  const unmeasured = unmeasuredOf(texts, scores)
  expect(unmeasured).toEqual(['b.ts', 'c.ts'])
  const page = evidenceOf(of('abc', scores), texts)
  expect(page).toContain('| files with functions that no run has changed | 2 |')
  expect(page).toMatch(/## Not measured\n\n- b\.ts\n- c\.ts\n$/)
  expect(pageOf(of('abc', scores))).not.toContain('## Not measured')
})

describe('changes that are drawn', () => {
  const ids = Array.from({ length: 800 }, (_, index) => String(index))
  const seed = 'a'
  const tried = (id: string, status: string): DrawLine => ({
    tried: { ...mutant(status, Number(id)), id, fileName: `${folder}/a.ts` },
  })

  test('each has the same chance, and parts that follow each other share none', () => {
    const half = drawnOf({ seed, from: 0, to: 0.5 }, ids)
    expect(half.length).toBeGreaterThan(340)
    expect(half.length).toBeLessThan(460)
    const other = drawnOf({ seed, from: 0.5, to: 1 }, ids)
    expect(new Set([...half, ...other]).size).toBe(ids.length)
    expect(drawnOf({ seed: 'b', from: 0, to: 0.5 }, ids)).not.toEqual(half)
  })

  test.each(['', 'a', 'a:0', 'a:0.2-0.1', 'a:0-2', ':0-1', 'a:-1-1'])('%j is no draw', (text) => {
    expect(drawOf(text)).toBeUndefined()
    expect(drawOf('a:0.1-0.25')).toEqual({ seed, from: 0.1, to: 0.25 })
    // As a number of its size is written.
    expect(drawOf('a:1e-7-0.25')).toEqual({ seed, from: 1e-7, to: 0.25 })
  })

  test('options that do not go together are refused before anything runs', () => {
    expect(readOptions(['--keep', 'f', '--draw', 'a:0-0.02', '--minutes', '60'])).toEqual({
      name: 'core',
      keep: 'f',
      draw: { seed, from: 0, to: 0.02 },
      minutes: 60,
      direct: false,
      patterns: [],
    })
    expect(readOptions(['--', '--of', 'runtime', '--direct', 'lease/*.ts'])).toMatchObject({
      name: 'runtime',
      direct: true,
      patterns: ['lease/*.ts'],
    })
    const wrong: readonly (readonly [string, RegExp])[] = [
      ['--draw a:0-2', /^--draw takes SEED:FROM-TO/],
      ['--draw a:0-0.1 queue/*.ts', /^--draw takes its changes from the whole core/],
      ['--of runtime --draw a:0-0.1 --direct', /^--draw takes its changes from the whole core/],
      ['--of runtime --draw a:0-0.1', /^--draw takes its changes from the whole core/],
      ['--draw a:0-0.1 --minutes x', /^--minutes takes a number above 0, not x$/],
      ['--minutes 5', /^--minutes ends a draw/],
      ['--of nothing', /^usage: /],
      ['--nope', /^usage: /],
      ['--keep', /^usage: /],
    ]
    for (const [args, why] of wrong)
      expect(readOptions(args.split(' '))).toEqual({ wrong: expect.stringMatching(why) })
  })

  test('a file of --keep has draws alone or results of files alone, and no change twice', () => {
    const sample = (commit: string, drawn: string): Sample => ({
      commit,
      draw: drawn,
      date: '2026-01-01',
      machine: 'one',
      among: 9,
      noticed: 1,
      timedOut: [],
      unnoticed: [],
    })
    const scores = of('c', scoresOf({ files: reported('a.ts', 'Killed') }, folder))
    const draws = [sample('c', 'a:0-0.013')]
    const draw = (from: number, to: number) => ({ seed, from, to })
    expect(problemOfKept(draws, draw(0.013, 0.02), 'c')).toBeUndefined()
    expect(problemOfKept(draws, { ...draw(0, 0.02), seed: 'b' }, 'c')).toBeUndefined()
    expect(problemOfKept(draws, draw(0.1, 0.2), 'd')).toMatch(
      /^the file of --keep has a:0-0\.013 of commit c, .*: take another seed$/,
    )
    expect(problemOfKept(draws, { ...draw(0.1, 0.2), seed: 'b' }, 'd')).toBeUndefined()
    expect(problemOfKept([], draw(0, 0.02), 'c')).toBeUndefined()
    expect(problemOfKept(scores, undefined, 'c')).toBeUndefined()
    expect(problemOfKept(draws, draw(0, 0.02), 'c')).toMatch(/ has a:0-0\.013 of this commit/)
    expect(problemOfKept(draws, draw(0.012, 0.02), 'c')).toMatch(/would count twice/)
    expect(problemOfKept(draws, undefined, 'c')).toMatch(/has draws, and this is none/)
    expect(problemOfKept(scores, draw(0, 0.02), 'c')).toMatch(/has results of whole files/)
  })

  test('a run that was ended early has drawn less: those before the first that it did not try', () => {
    const draw = { seed, from: 0, to: 0.02 }
    const drawn = drawnOf(draw, ids)
    const [first = '', second = '', third = '', missing = '', late = ''] = drawn
    const lines = [
      { ids },
      tried(late, 'Survived'),
      tried(second, 'Timeout'),
      tried(first, 'Killed'),
      tried(third, 'NoCoverage'),
    ]
    const sample = sampleOf(draw, lines, folder)
    expect(sample).toMatchObject({ among: 800, noticed: 2, undecided: 0 })
    const withError = lines.map((it, index) => (index === 3 ? tried(first, 'RuntimeError') : it))
    expect(sampleOf(draw, withError, folder)).toMatchObject({ noticed: 1, undecided: 1 })
    expect(sample.timedOut).toEqual([`a.ts:${second}: BooleanLiteral, \`a \\| b\``])
    expect(sample.unnoticed).toEqual([{ change: `a.ts:${third}: BooleanLiteral, \`a \\| b\`` }])
    expect(sample.draw).toBe(`a:0-${placeOf(seed, missing)}`)
  })

  test('the page has the rate of all runs on the last commit, its interval, and what came of each', () => {
    const run = { date: '2026-01-01', machine: 'one', among: 9_000, timedOut: [] }
    const samples = [
      { ...run, commit: 'a', draw: 'a:0-0.1', noticed: 1, unnoticed: [] },
      {
        ...run,
        commit: 'b',
        draw: 'a:0-0.1',
        noticed: 90,
        unnoticed: [{ change: 'a.ts:1: X', judged: 'the same' }],
      },
      {
        ...run,
        commit: 'b',
        draw: 'a:0.1-0.2',
        noticed: 5,
        unnoticed: [4, 5, 6, 7].map((it) => ({ change: `a.ts:${it}: Y` })),
      },
    ]
    const page = samplePageOf(samples)
    expect(page).toContain('| noticed  | 95: 95.0 %, of which 0 by')
    expect(page).toContain('from 88.8 % to 97.8 %: around the bar')
    expect(page).toContain('| a.ts:1: X | the same |\n| a.ts:4: Y | not looked into yet |')
    expect(page).toContain('| an earlier draw | 100.0 % of 1 at a (20.7 % to 100.0 %) |')
    expect(page).toContain('| not noticed | 5, of which 4 are open |')
    expect(page).toContain('The last draw is no independent sample.')
    expect(samplePageOf(samples.slice(1))).not.toContain('no independent sample')
    const direct = [
      ...samples,
      { ...run, direct: true, commit: 'b', draw: 'a:0-0.1', noticed: 1, unnoticed: [] },
    ]
    expect(samplePageOf(direct)).toContain("| tests that had to notice | the core's own |")
    expect(samplePageOf(direct)).toContain('| an earlier draw | 95.0 % of 100 at b (88.8 % to 97.8 %) |')
    const since = samplePageOf([
      { ...run, commit: 'b', draw: 'a:0-1', noticed: 3, unnoticed: [{ change: 'c', noticedSince: true }] },
    ])
    expect(since).toContain('| noticed  | 3: 75.0 %')
    expect(since).toContain('| not noticed | 1, of which 0 are open |')
    const failed = { ...run, commit: 'b', draw: 'a:0-1', noticed: 3, unnoticed: [], undecided: 2 }
    expect(samplePageOf([failed])).toContain('| drawn and not judged, for an error | 2 |')
    expect(since).toContain('| c | a test that came after notices it |')
    expect(intervalOf(1_000, 1_000).map((it) => it.toFixed(1))).toEqual(['99.6', '100.0'])
  })

  test('the last draw falls short where its whole interval is below the bar', () => {
    const drawn = (commit: string, noticed: number, missed: number): Sample => ({
      commit,
      draw: 'a:0-1',
      date: '2026-01-01',
      machine: 'one',
      among: 9_000,
      noticed,
      timedOut: [],
      unnoticed: Array.from({ length: missed }, () => ({ change: 'c', noticedSince: true })),
    })
    const few = drawn('a', 414, 34)
    const enough = drawn('b', 95, 5)
    expect(shortfallOf([enough, few])).toBe(
      'at most 94.5 % of all changes are noticed, by 95 of 100 draws; 96 % have to be',
    )
    expect(shortfallOf([few, enough])).toBeUndefined()
  })
})

describe('tests that one process holds', () => {
  /** Sources with the change x, which turn whenever they are run. */
  const setting = () => {
    const changed: Changed = {}
    const ran: string[] = []
    const source = () => {
      const isChanged = changed.activeMutant === 'x'
      if (isChanged) changed.hitCount = (changed.hitCount ?? 0) + 1
      return isChanged
    }
    const held = (id: string, isDirect: boolean, body: () => void): [string, HeldTest] => [
      id,
      {
        id,
        name: `the test ${id}`,
        isDirect,
        run: () => {
          ran.push(id)
          return Promise.resolve().then(body)
        },
      },
    ]
    const failing = () => {
      if (source()) throw new Error('it is changed')
    }
    return { changed, ran, source, held, failing }
  }

  test("the area's own tests come first, quick ones before slow ones, and the first that fails ends it: it passes without the change", async () => {
    const { changed, ran, source, held, failing } = setting()
    const tests = new Map([
      held('other', false, failing),
      held('blind', true, source),
      held('own', true, failing),
      held('far', true, failing),
    ])
    for (const it of tests.values()) it.ms = it.id === 'own' ? 2 : 1
    const change = { id: 'x', tests: ['other', 'own', 'blind'], hitLimit: 9 }
    expect(await judge(change, tests, changed)).toEqual({
      status: 'killed',
      killedBy: ['own'],
      failureMessage: 'it is changed',
      nrOfTests: 2,
    })
    expect(ran).toEqual(['blind', 'own', 'own'])
    expect(await judge({ ...change, tests: ['blind'] }, tests, changed)).toEqual({
      status: 'survived',
      nrOfTests: 1,
    })
    expect(source()).toBe(false)
  })

  test('a change that is come to too often turns for ever, whatever its test says', async () => {
    const { changed, source, held } = setting()
    const turning = () => {
      while (source()) if ((changed.hitCount ?? 0) > (changed.hitLimit ?? 0)) throw new Error('too often')
    }
    const tests = new Map([held('turning', true, turning)])
    const change = { id: 'x', tests: ['turning'] }
    expect(await judge({ ...change, hitLimit: 5 }, tests, changed)).toEqual({ status: 'timeout' })
  })

  describe('a test that fails without the change, too', () => {
    const spoiltBy = () => {
      const { changed, source, held } = setting()
      let isSpoilt = false
      const spoiling = () => {
        isSpoilt ||= source()
        if (isSpoilt) throw new Error('something was left behind')
      }
      const tests = new Map([held('spoiling', true, spoiling)])
      const asked: string[] = []
      const holder = (why?: string): Holder => ({
        judge: (change) => judge(change, tests, changed),
        failureAnew: (name) => {
          asked.push(name)
          return Promise.resolve(why)
        },
      })
      return { asked, holder }
    }
    const change = { id: 'x', tests: ['spoiling'] }

    test('has noticed nothing in a process that ran others: another one is asked', async () => {
      const { asked, holder } = spoiltBy()
      await expect(decide(change, false, holder())).rejects.toThrow('its process is spoilt')
      expect(asked).toEqual([])
    })

    test('has noticed the change in a fresh process, if it passes unchanged in yet another', async () => {
      const { asked, holder } = spoiltBy()
      expect(await decide(change, true, holder())).toMatchObject({ status: 'killed', killedBy: ['spoiling'] })
      expect(asked).toEqual(['spoiling'])
    })

    test('has noticed nothing if it always fails', async () => {
      const { holder } = spoiltBy()
      await expect(decide(change, true, holder('no such file'))).rejects.toThrow(
        'the test spoiling fails when nothing is changed: no such file',
      )
    })

    test('is asked for no second time where the verdict is clear', async () => {
      const { holder } = spoiltBy()
      const clear: Holder = {
        ...holder('never asked'),
        judge: () => Promise.resolve({ status: 'survived', nrOfTests: 1 }),
      }
      expect(await decide(change, true, clear)).toEqual({ status: 'survived', nrOfTests: 1 })
    })
  })

  test('a worker that ends is an error of whatever is asked then, or later', async () => {
    const posted: unknown[] = []
    const asker = new Asker((asked) => void posted.push(asked))
    const ready = asker.ask()
    asker.answered('ready')
    expect(await ready).toBe('ready')
    const pending = asker.ask('all')
    asker.ended(new Error('it is dead'))
    await expect(pending).rejects.toThrow('it is dead')
    await expect(asker.ask('all')).rejects.toThrow('it is dead')
    expect(posted).toEqual(['all'])
  })

  describe('a file with hooks', () => {
    describe('in a suite', () => {
      beforeEach(() => undefined)
      test('is refused by its name', ({ task }) => {
        expect(() => refuseHooks('a.test.ts', task.file)).toThrow(HooksNotRunError)
        expect(() => refuseHooks('a.test.ts', task.file)).toThrow('a.test.ts has hooks, which are not run')
      })
    })
    describe('in another suite', () => {
      test('is refused for its own hooks alone', ({ task }) => {
        expect(() => refuseHooks('a.test.ts', task.suite ?? task.file)).not.toThrow()
      })
    })
    test('is refused for what it leaves to the end of a test', ({ task, onTestFinished }) => {
      refuseFinishers('a.test.ts', task)
      onTestFinished(() => undefined)
      expect(() => refuseFinishers('a.test.ts', task)).toThrow('a.test.ts has hooks')
    })
  })

  test('all of them run under their names, one after the other, and each says how long it took', async () => {
    const { changed, held } = setting()
    const seen: unknown[] = []
    const seeing = () => void seen.push(changed.currentTestId)
    const [[, one], [, two]] = [
      held('one', true, seeing),
      held('two', true, () => {
        seeing()
        throw new Error('it fails')
      }),
    ]
    let time = 0
    const results = await runAll([one, two], changed, () => (time += 5))
    expect(results).toEqual([
      { id: 'one', name: 'the test one', ms: 5 },
      { id: 'two', name: 'the test two', ms: 5, why: 'it fails' },
    ])
    expect([...seen, changed.currentTestId]).toEqual(['one', 'two', undefined])
  })
})
