// Shows that tests notice faults: each mutant is planted into the sources as they are loaded, and the tests that name its rule have to
// fail. They pass without it, or the mutant proves nothing. A mutant with which the sources do not run proves nothing either, and is an error.
//
//   node tools/mutants.ts [TEXT] [--tests-passed] [--turn N] [--missed FILE] [--again FILE]    those whose name holds the text, or all
//
// --tests-passed: the quick tests have passed on these sources, so they are not run without a mutant again.
// --turn: the files of tests whose turn it is, 0 to 3 (tools/ci/turns.ts). Without it all.
// --missed: writes there which mutants were not killed, and why. --again: runs those of such a file alone, one after another.
// A mutant meets the quick draws of its tests, up to the first that fails; one that lives through them meets the long ones.
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createVitest, type TestModule } from 'vitest/node'
import { inTurn, readTurn } from './ci/turns.ts'
import { edited } from './mutants/edited.ts'
import { type Mutant, mutants } from './mutants/list.ts'
import { isByTimeAlone, type Missed, type RunFile, type Verdict, verdictOf } from './mutants/verdict.ts'

const workspace = resolve(import.meta.dirname, '..')
// Each fault has a process of its own: it takes the compiled code of those before it.
process.env['NODE_COMPILE_CACHE'] ??= resolve(workspace, 'node_modules/.cache/compiled')
const { values: flags, positionals } = parseArgs({
  args: process.argv.slice(2).filter((arg) => arg !== '--'),
  allowPositionals: true,
  options: {
    'tests-passed': { type: 'boolean', default: false },
    turn: { type: 'string' },
    missed: { type: 'string' },
    again: { type: 'string' },
  },
})
const wanted = positionals[0] ?? ''
const asked = flags.turn === undefined ? undefined : readTurn(flags.turn)
if (asked !== undefined && 'wrong' in asked) {
  console.error(asked.wrong)
  process.exit(2)
}
const ofTurn = asked === undefined ? partsOf(mutants) : inTurn(partsOf(mutants), asked.turn)
const again =
  flags.again === undefined
    ? undefined
    : (JSON.parse(readFileSync(flags.again, 'utf8')) as readonly Missed[]).map(({ name }) => name)
const parts = ofTurn
  .map((part) => part.filter(({ name }) => name.includes(wanted) && again?.includes(name) !== false))
  .filter((part) => part.length > 0)
const chosen = parts.flat()
if (chosen.length === 0) {
  const isNamed = mutants.some(({ name }) => name.includes(wanted))
  console.error(
    isNamed
      ? `No mutant that is named like "${wanted}" has turn ${flags.turn}.`
      : `No mutant is named like "${wanted}".`,
  )
  process.exit(2)
}

/** What came of some of the mutants. */
interface Outcome {
  readonly missed: readonly Missed[]
  /** Noticed, by tests whose time was over. */
  readonly late: readonly string[]
  /** Of their tests without any mutant. */
  readonly passed: number
}

// A process told so plants what it is sent, part by part, until it is let go.
if (process.send !== undefined) {
  const bed = seedbed()
  process.on('message', (names: readonly string[]) => {
    const part = mutants.filter(({ name }) => names.includes(name))
    void bed.then((it) => plant(part, it)).then((outcome) => process.send?.(outcome))
  })
  process.once('disconnect', () => process.exit(0))
} else {
  // One more than there are cores: some tests wait with a mutant until their time is over.
  const count = again === undefined ? Math.min(availableParallelism() + 1, parts.length) : 1
  const left = [...parts]
  const outcomes = (await Promise.all(Array.from({ length: count }, () => inProcess(left)))).flat()
  const missed = outcomes.flatMap((outcome) => outcome.missed)
  const late = outcomes.flatMap((outcome) => outcome.late)
  const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0)
  const names = new Set(missed.map(({ name }) => name))
  console.log(
    `${chosen.length - names.size} of ${chosen.length} mutants killed${passed === 0 ? '' : `; without them ${passed} tests pass`}`,
  )
  if (late.length > 0)
    console.log(
      `Noticed because the time of a test was over, which a slow machine does alone, too: ${late.join('; ')}`,
    )
  for (const { name, why } of missed) console.error(`${name}: ${why}`)
  if (flags.missed !== undefined) writeFileSync(flags.missed, JSON.stringify(missed))
  process.exit(missed.length > 0 || (passed === 0 && !flags['tests-passed']) ? 1 : 0)
}

/** Those of one file of tests stay together, so that what it loads is compiled once; the most first. */
function partsOf(all: readonly Mutant[]): (readonly Mutant[])[] {
  const byFile = [...Map.groupBy(all, ({ killedBy: [file] }) => file).values()]
  return byFile.toSorted((a, b) => b.length - a.length)
}

/** Has a process plant one part after the other, as long as there are any that no other process has taken. */
async function inProcess(left: (readonly Mutant[])[]): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  let child: ChildProcess | undefined
  for (let part = left.shift(); part !== undefined; part = left.shift()) {
    if (child?.connected !== true) child = fork(import.meta.filename, process.argv.slice(2))
    const outcome = await outcomeIn(child, part)
    if (typeof outcome !== 'string') {
      outcomes.push(outcome)
      continue
    }
    // A process that ends takes the verdicts of one part with it, and the others get another one.
    child = undefined
    const why = `the process that planted it ended: ${outcome}`
    outcomes.push({ missed: part.map(({ name }) => ({ name, why, isLost: true })), late: [], passed: 0 })
  }
  if (child?.connected === true) child.disconnect()
  return outcomes
}

/** What came of a part, or why its process ended before. */
function outcomeIn(child: ChildProcess, part: readonly Mutant[]): Promise<Outcome | string> {
  return new Promise((done) => {
    const limit = setTimeout(
      () => {
        told(`it took more than ${minutesOf(part)} minutes`)
        child.kill('SIGKILL')
      },
      minutesOf(part) * 60_000,
    )
    const told = (outcome: Outcome | string) => {
      clearTimeout(limit)
      child.removeAllListeners()
      // A process that is ended may still fail to take a message.
      child.on('error', () => {})
      done(outcome)
    }
    child.once('message', (outcome: Outcome) => told(outcome))
    child.once('exit', (code, signal) => told(signal ?? `exit code ${code}`))
    child.once('error', ({ message }) => told(message))
    child.send(part.map(({ name }) => name))
  })
}

/** Many times what the slowest takes. A fault may keep its process busy for ever. */
function minutesOf(part: readonly Mutant[]): number {
  return 10 + 3 * part.length
}

async function plant(some: readonly Mutant[], bed: Seedbed): Promise<Outcome> {
  for (const { file, edits, name } of some) {
    const text = readFileSync(resolve(workspace, file), 'utf8')
    edits.reduce((left, [find, replace]) => edited(left, find, replace, name), text)
  }
  const missed: Missed[] = []
  const late: (Mutant & { readonly length: 'fast' | 'proof' })[] = []
  /** Nobody has said that their tests pass without them: a landing runs a part of the long ones. */
  const unsaid: Mutant[] = []
  for (const mutant of some) {
    const began = performance.now()
    const [file, name] = mutant.killedBy
    const quick = await bed.run(file, name, 'fast', mutant)
    const last = quick.verdict === 'unnoticed' ? await bed.run(file, name, 'proof', mutant) : quick
    const { verdict } = last
    if (verdict !== 'noticed') missed.push({ name: mutant.name, why: whyMissed[verdict] })
    if (!flags['tests-passed'] || file.endsWith('.proof.test.ts') || quick.verdict !== 'noticed')
      unsaid.push(mutant)
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    const by = verdict === 'noticed' ? `, by ${quick.verdict === 'noticed' ? 'quick' : 'long'} tests` : ''
    const isLate = verdict === 'noticed' && last.isByTime
    if (isLate) late.push({ ...mutant, length: quick.verdict === 'noticed' ? 'fast' : 'proof' })
    console.log(
      `${said[verdict]} ${seconds.padStart(5)} s  ${mutant.name}${by}${isLate ? ' whose time was over' : ''}`,
    )
  }
  // The same tests on the sources as they are.
  let passes = 0
  for (const [file, those] of Map.groupBy(unsaid, ({ killedBy }) => killedBy[0])) {
    const names = new Set(those.map(({ killedBy: [, name] }) => name))
    const { passed, failed } = await bed.run(file, [...names].join('|'), 'proof')
    passes += passed
    if (failed.length === 0) continue
    const why = `without it ${failed.join(', ')} of ${file} fails`
    missed.push(...those.map(({ name }) => ({ name, why })))
  }
  // A test whose time was over tells of a fault only if that time is enough without one, on the machine as it is now.
  for (const { name, killedBy, length } of late) {
    const { failed } = await bed.run(...killedBy, length, undefined, timesWithFault)
    if (failed.length > 0)
      missed.push({ name, why: `without it there is no time for ${failed.join(', ')}, too` })
  }
  return { missed, late: late.map(({ name }) => name), passed: passes }
}

/** For how long a test and what it polls may take, in ms. A fault may make a test wait for ever. Without one a busy machine takes its time. */
const [timesWithFault, timesWithout] = [
  [30_000, 5_000],
  [300_000, 120_000],
] as const

const whyMissed: Readonly<Record<Exclude<Verdict, 'noticed'>, string>> = {
  unnoticed: 'not noticed',
  broken: 'the sources do not run with it',
}

const said: Readonly<Record<Verdict, string>> = {
  noticed: 'killed  ',
  unnoticed: 'SURVIVED',
  broken: 'BROKEN  ',
}

type Seedbed = Awaited<ReturnType<typeof seedbed>>

/** One Vitest for all mutants of a process. Each run has a worker of its own, which plants the fault as it loads the sources: tools/mutants/plant.ts. */
async function seedbed() {
  const vitest = await createVitest('test', {
    root: workspace,
    config: resolve(import.meta.dirname, 'mutants/vitest.config.ts'),
    watch: false,
  })
  return {
    /** Runs the tests of a file that have such names, with few draws or many, with a mutant or without. */
    async run(
      file: string,
      name: string,
      length: 'fast' | 'proof',
      mutant?: Mutant,
      [ofTest, ofPoll] = mutant === undefined ? timesWithout : timesWithFault,
    ) {
      // The worker takes both over: tools/draws.ts.
      process.env['TESTS'] = length
      delete process.env['PLANTED']
      if (mutant !== undefined) process.env['PLANTED'] = JSON.stringify(mutant)
      for (const { config } of vitest.projects) {
        config.testTimeout = ofTest
        config.hookTimeout = ofTest
        config.expect.poll = { ...config.expect.poll, timeout: ofPoll }
      }
      const rule = new RegExp(name)
      vitest.setGlobalTestNamePattern(rule)
      const specifications = await vitest.globTestSpecifications([file])
      const files = new Set(specifications.map(({ moduleId }) => moduleId))
      const { testModules } = await vitest.runTestSpecifications(specifications)
      // Vitest returns the modules of earlier runs as well: a failure there says nothing about this mutant.
      const ran = testModules.filter(({ moduleId }) => files.has(moduleId)).map(ranOf)
      const tests = ran.flatMap((module) => module.tests)
      process.exitCode = 0
      return {
        verdict: verdictOf(ran, rule),
        isByTime: isByTimeAlone(ran, rule),
        passed: tests.filter(({ state }) => state === 'passed').length,
        failed: tests
          .filter(({ state }) => state === 'failed')
          .map(({ fullName, errors }) => `"${fullName}" (${errors[0]?.message.split('\n', 1)[0]})`),
      }
    },
  }
}

function ranOf(module: TestModule): RunFile {
  const tests = [...module.children.allTests()].map((test) => {
    const { state, errors = [] } = test.result()
    return { fullName: test.fullName, state, errors }
  })
  return { errors: module.errors(), tests }
}
