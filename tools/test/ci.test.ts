import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { onlyThese, toMeasureAgain } from '../ci/measure-again.ts'
import { leftToTheNight } from '../ci/night.ts'
import { isNeeded, neededOf, wholeFiles } from '../ci/each-landing.ts'
import { inOrder } from '../ci/side-by-side.ts'
import { stagesOf } from '../ci/stages.ts'
import { firstOf, inTurn, keepTurn, readTurn, turnOf, turns } from '../ci/turns.ts'
import { heaviest } from '../cpu/heaviest.ts'
import { failedOf, filesToRepeat } from '../failed-tests.ts'
import { mutants } from '../mutants/list.ts'
import { provenPages, references } from '../proof.ts'

describe('stages side by side', () => {
  test('start in order, as many at once as there are cores, and one that asks for all of them runs alone', async () => {
    const said: string[] = []
    const ends = new Map<string, () => void>()
    const jobs = [
      { name: 'a', cores: 1 },
      { name: 'b', cores: 1 },
      { name: 'c', cores: 1 },
      { name: 'alone' },
      { name: 'd', cores: 1 },
    ]
    const all = inOrder(jobs, 2, ({ name }) => {
      said.push(name)
      return new Promise((ended) => ends.set(name, () => ended(undefined)))
    })
    const end = async (name: string) => {
      ends.get(name)?.()
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
    }
    expect(said).toEqual(['a', 'b'])
    await end('b')
    expect(said).toEqual(['a', 'b', 'c'])
    await end('c')
    expect(said).toEqual(['a', 'b', 'c'])
    await end('a')
    expect(said).toEqual(['a', 'b', 'c', 'alone'])
    await end('alone')
    expect(said).toEqual(['a', 'b', 'c', 'alone', 'd'])
    await end('d')
    await all
  })

  test('run on one core, whatever they ask for', async () => {
    const said: number[] = []
    await inOrder([{ cores: 2 }, { cores: 0 }, {}], 1, async ({ cores }) => {
      said.push(cores ?? -1)
      return undefined
    })
    expect(said).toEqual([2, 0, -1])
  })

  test('leave what failed beside others until all have ended, and one after the other', async () => {
    const said: string[] = []
    let running = 0
    const jobs = ['a', 'b', 'c'].map((name) => ({ name, cores: 1 }))
    await inOrder(jobs, 2, async ({ name }) => {
      running += 1
      await Promise.resolve()
      running -= 1
      said.push(name)
      if (name === 'c') return undefined
      return async () => {
        expect(running).toBe(0)
        running += 1
        await Promise.resolve()
        running -= 1
        said.push(`${name} again`)
      }
    })
    expect(said).toEqual(['a', 'b', 'c', 'a again', 'b again'])
  })
})

describe('a file of long tests that failed runs once more, alone', () => {
  const failed = (...files: readonly string[]) => files.map((file) => ({ file, name: 'a test', why: 'late' }))

  test('each once, however many of its tests failed', () => {
    expect(filesToRepeat(failed('a', 'b', 'a'), 3)).toEqual(['a', 'b'])
  })

  test('none runs again where more than eight files failed, or something outside of them', () => {
    expect(filesToRepeat(failed(...'a b c d e f g h'.split(' ')), 8)).toHaveLength(8)
    expect(filesToRepeat(failed(...'a b c d e f g h i'.split(' ')), 9)).toEqual([])
    expect(filesToRepeat(failed('a'), 2)).toEqual([])
    expect(filesToRepeat([], 0)).toEqual([])
  })

  test('an error that nobody awaited comes with the file of which a test failed, and beside no failed test it is of no file', () => {
    const root = resolve(import.meta.dirname, '../..')
    const module = (file: string, state: 'passed' | 'failed') => {
      const error = { message: 'late' }
      const result = () => ({ state, errors: state === 'failed' ? [error] : [] })
      const children = { allTests: () => [{ fullName: 'a test', result }] }
      return { moduleId: join(root, file), children, ok: () => state === 'passed', errors: () => [] }
    }
    const modules = [module('a', 'failed'), module('b', 'passed')] as unknown as Parameters<
      typeof failedOf
    >[0]
    const left = (file: string) => ({ message: 'refused\nat', VITEST_TEST_PATH: join(root, file) })
    const found = failedOf(modules, [left('a')])
    expect(found.map(({ file, name, why }) => [file, name, why])).toEqual([
      ['a', 'a test', 'late'],
      ['a', '', 'refused'],
    ])
    expect(filesToRepeat(found, 2)).toEqual(['a'])
    expect(failedOf(modules, [left('b'), { message: 'from nowhere' }])).toHaveLength(1)
  })
})

describe('scenarios are measured again', () => {
  const scenario = (id: string, ...missed: string[]) => ({
    id,
    pass: missed.length === 0,
    expectations: [{ pass: true, unit: 'tasks' }, ...missed.map((unit) => ({ pass: false, unit }))],
  })

  test('where times and rates are all that they missed', () => {
    const scenarios = [scenario('fine'), scenario('slow', 'ms'), scenario('slower', 'ms', 'tasks/s')]
    expect(toMeasureAgain(scenarios)).toEqual(['slow', 'slower'])
  })

  test('none is measured again when one missed something else, or failed for no expectation', () => {
    expect(toMeasureAgain([scenario('slow', 'ms'), scenario('wrong', 'tasks')])).toEqual([])
    expect(toMeasureAgain([{ id: 'broken', pass: false, expectations: [] }])).toEqual([])
    expect(toMeasureAgain([])).toEqual([])
  })

  test('alone, without the others that the command names', () => {
    expect(onlyThese('gym --seed 1 --only slow --only fast --report r.json', ['slow'])).toBe(
      'gym --seed 1 --report r.json --only slow',
    )
  })
})

test('a night runs the stages of a landing, longer', () => {
  const landing = stagesOf('landing')
  const nightly = stagesOf('nightly', { seed: 20_001 })
  expect(nightly.map(({ name }) => name)).toEqual(expect.arrayContaining(landing.map(({ name }) => name)))
  expect(nightly.find(({ name }) => name === 'the simulation')?.command).toMatch(/ 20001\.\.40000$/)
  expect(landing.find(({ name }) => name === 'the simulation')?.command).toMatch(/ 1\.\.50$/)
})

test('the long tests run alone at night, and beside others at a landing', () => {
  const coresOf = (length: 'landing' | 'nightly') =>
    stagesOf(length).find(({ name }) => name === 'the long tests')?.cores
  expect([coresOf('landing'), coresOf('nightly')]).toEqual([1, undefined])
})

test('a night runs each scenario of the gym that a landing does not, except those that need a trace', () => {
  const stage = stagesOf('nightly').find(({ name }) => name === 'the medium and hard scenarios of the gym')
  const ids = [...(stage?.command ?? '').matchAll(/--only (\S+)/g)].map(([, id]) => id)
  const folder = join(import.meta.dirname, '../../packages/agent-gym/benchmarks/q4')
  const longer = readdirSync(folder)
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Scenario)
    .filter(
      ({ difficulty, arrivals }) => difficulty !== 'easy' && arrivals.every(({ how }) => how !== 'trace'),
    )
  expect(new Set(ids)).toEqual(new Set(longer.map(({ id }) => id)))
})

const everyTurn = Array.from({ length: turns }, (_, turn) => turn)

test('the landings of all turns run each easy scenario of the gym once: those with a bar of time or rate alone', () => {
  const idsOf = (stage: string) => {
    const ofTurns = everyTurn.map((turn) => {
      const { command, cores } = stagesOf('landing', { turn }).find(({ name }) => name === stage) ?? {}
      return { cores, ids: [...(command ?? '').matchAll(/--only (\S+)/g)].map(([, id]) => id) }
    })
    // A landing without any would prove nothing of it.
    expect(ofTurns.filter(({ ids }) => ids.length === 0)).toEqual([])
    return { cores: ofTurns[0]?.cores, ids: [...new Set(ofTurns.flatMap(({ ids }) => ids))] }
  }
  const [timed, counted, shown] = [
    idsOf('the gym'),
    idsOf('what the gym counts'),
    idsOf('the README command of the gym'),
  ]
  expect([timed.cores, counted.cores, shown.cores]).toEqual([undefined, 1, 1])
  expect(timed.ids).toEqual(expect.arrayContaining(['pickup-idle', 'throughput-drain', 'drain-clean']))
  expect(counted.ids).toEqual(expect.arrayContaining(['one-key', 'poison-task']))
  const folder = join(import.meta.dirname, '../../packages/agent-gym/benchmarks/q4')
  const easy = readdirSync(folder)
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Scenario)
    .filter(
      ({ difficulty, arrivals }) => difficulty === 'easy' && arrivals.every(({ how }) => how !== 'trace'),
    )
  const ids = [...timed.ids, ...counted.ids, ...shown.ids]
  expect(ids).toHaveLength(easy.length)
  expect(new Set(ids)).toEqual(new Set(easy.map(({ id }) => id)))
  // Neighbours would spoil a time or a rate.
  const spoilt = easy
    .filter(({ id }) => [...counted.ids, ...shown.ids].includes(id))
    .flatMap(({ id, expect: bars }) => bars.map(({ measure }) => `${id}: ${measure}`))
    .filter((bar) => /Ms\b|PerSec\b/.test(bar))
  expect(spoilt).toEqual([])
})

interface Scenario {
  readonly id: string
  readonly difficulty: string
  readonly arrivals: readonly { readonly how: string }[]
  readonly expect: readonly { readonly measure: string }[]
}

test('the long tests begin with files that are there', () => {
  const workspace = resolve(import.meta.dirname, '../..')
  expect(
    heaviest.filter((file) => !file.endsWith('.proof.test.ts') || !existsSync(join(workspace, file))),
  ).toEqual([])
  expect(new Set(heaviest).size).toBe(heaviest.length)
})

describe('the list of tests that a landing leaves to the night', () => {
  const workspace = resolve(import.meta.dirname, '../..')
  const left = new Set(leftToTheNight.map(({ file }) => file))

  test('has long tests that are there, which a night runs', () => {
    expect([...left].filter((file) => !file.endsWith('.proof.test.ts'))).toEqual([])
    expect([...left].filter((file) => !existsSync(join(workspace, file)))).toEqual([])
    expect(left.size).toBe(leftToTheNight.length)
    const commandOf = (length: 'landing' | 'nightly') =>
      stagesOf(length).find(({ name }) => name === 'the long tests')?.command
    expect(commandOf('landing')).toContain('--landing')
    expect(commandOf('nightly')).not.toContain('--landing')
  })

  test('names tests or stages of a landing that prove the same meanwhile', () => {
    const stages = new Set(stagesOf('landing').map(({ name }) => name))
    const isRun = (it: string) => stages.has(it) || (!left.has(it) && existsSync(join(workspace, it)))
    const unproven = leftToTheNight.filter(
      ({ meanwhile }) => meanwhile.length === 0 || !meanwhile.every(isRun),
    )
    expect(unproven).toEqual([])
  })

  test('leaves no rule without a test in a landing', () => {
    const page = readFileSync(join(workspace, 'docs/proof.md'), 'utf8')
    const rules = page.split(/^### /m).slice(1)
    const unproven = rules.flatMap((rule) => {
      const files = [...rule.matchAll(/\]\(\.\.\/([^)]+\.test\.ts)\)/g)].map(([, file = '']) => file)
      return files.length > 0 && files.every((file) => left.has(file)) ? [rule.split('\n')[0]] : []
    })
    expect(rules.length).toBeGreaterThan(50)
    expect(unproven).toEqual([])
  })

  test('holds no test that alone notices a planted fault', () => {
    expect(mutants.filter(({ killedBy: [file] }) => left.has(file)).map(({ name }) => name)).toEqual([])
  })
})

describe('turns of landings', () => {
  const workspace = resolve(import.meta.dirname, '../..')

  test('a commit has one turn, and all turns come', () => {
    const commits = Array.from(
      { length: 100 },
      (_, n) => `${(n * 2_654_435_761).toString(16).padStart(8, '0').slice(-8)}cafe`,
    )
    expect(new Set(commits.map(turnOf))).toEqual(new Set(everyTurn))
    expect(turnOf('00000006cafe')).toBe(6 % turns)
  })

  test('--turn takes a turn, and else the commit has one; without a commit the first is said to be chosen', () => {
    const commit = () => '00000006cafe'
    const read = everyTurn.map((turn) => readTurn(String(turn), commit))
    expect(read).toEqual(everyTurn.map((turn) => ({ turn, said: `turn ${turn} of 0 to 3` })))
    for (const wrong of ['4', '5', '-1', 'x', '1.5', '01', ' 1'])
      expect(readTurn(wrong, commit)).toEqual({ wrong: `--turn takes 0 to 3, not ${wrong}` })
    expect(readTurn('', commit)).toEqual({ wrong: '--turn takes 0 to 3, not nothing' })
    expect(readTurn(undefined, commit)).toEqual({ turn: 2, said: 'turn 2 of 0 to 3' })
    expect(readTurn(undefined, () => undefined)).toEqual({
      turn: 0,
      said: 'turn 0 of 0 to 3, because git names no commit here; --turn N chooses another',
    })
  })

  test('each of a list has its turn, and one only', () => {
    const list = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
    expect(everyTurn.flatMap((turn) => inTurn(list, turn)).toSorted()).toEqual(list)
  })

  test('each test of a file runs in one turn, one that is needed in each, and an empty group is left out', () => {
    const file = () => [
      { name: 'a' },
      { name: 'group', tasks: [{ name: 'b' }, { name: 'needed' }, { name: 'c' }] },
      { name: 'lonely', tasks: [{ name: 'd' }] },
      { name: 'e' },
    ]
    const runs = everyTurn.map((turn) => {
      const tasks = file()
      keepTurn(tasks, turn, firstOf('x.proof.test.ts'), (name) => name === 'group > needed')
      expect(tasks.filter((it) => it.tasks?.length === 0)).toEqual([])
      return tasks.flatMap(({ name, tasks: inside }) => inside?.map((it) => it.name) ?? [name])
    })
    expect(runs.every((names) => names.includes('needed'))).toBe(true)
    const others = runs.flat().filter((name) => name !== 'needed')
    expect(others.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  test('a rule that no quick test holds has a test in each landing', () => {
    const all = provenPages.flatMap(references)
    const needed = neededOf(all, new Set(leftToTheNight.map(({ file }) => file)))
    expect(needed.length).toBeGreaterThan(50)
    for (const { path, title } of needed) {
      const isAsked = isNeeded(path)
      const name = `a group > ${title.replaceAll(/%[a-z]|\$\{[^}]*\}|\$[\w.]+/g, 'one')}`
      expect([title, isAsked('another test'), isAsked(name)]).toEqual([
        title,
        wholeFiles.includes(path),
        true,
      ])
    }
    const held = new Set(
      [...needed, ...all.filter(({ path }) => !path.includes('.proof.'))].map(
        ({ page, rule }) => `${page} ${rule}`,
      ),
    )
    expect(
      all.filter(({ page, rule, path }) => path.endsWith('.ts') && !held.has(`${page} ${rule}`)),
    ).toEqual([])
  })

  test('a file that is whole in each landing is there', () => {
    expect(wholeFiles.filter((file) => !existsSync(join(workspace, file)))).toEqual([])
  })

  test('a landing runs each stage, except those that belong to another turn', () => {
    const late = stagesOf('landing').filter(({ turn }) => turn !== undefined)
    expect(late.length).toBeGreaterThan(0)
    expect(late.filter(({ turn = -1 }) => !everyTurn.includes(turn))).toEqual([])
    expect(stagesOf('nightly').filter(({ turn }) => turn !== undefined)).toEqual([])
  })
})

test('the workflow on GitHub has a job for each stage, and no other', () => {
  const file = join(import.meta.dirname, '../../.github/workflows/ci.yml')
  const [, list = ''] = /^ {8}stage:\n((?: {10}- .+\n)+)/m.exec(readFileSync(file, 'utf8')) ?? []
  const jobs = [...list.matchAll(/^ {10}- '?(.+?)'?$/gm)].map(([, name]) => name)
  expect(jobs).toEqual(stagesOf('landing').map(({ name }) => name))
})

test('a workflow on GitHub runs the whole night by a schedule', () => {
  const file = join(import.meta.dirname, '../../.github/workflows/nightly.yml')
  const text = readFileSync(file, 'utf8')
  expect(text).toMatch(/^ {2}schedule: \[\{ cron: '[\d* ]+' \}\]$/m)
  expect(text).toMatch(/^ {6}- run: bash \.ci\/nightly$/m)
})
