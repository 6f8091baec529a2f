// Runs the quick tests of the folder it is called in: a package's own, or all of them at the root.
//
//   node tools/test.ts [FILE...] [--grep TEXT] [--watch] [--proof] [--landing [--turn N] | --whole]
//
// --proof: the long ones, `*.proof.test.ts`, and not the quick ones. A FILE is run whichever it is. --whole: with all that they draw, as each night.
// --landing: without those that a landing leaves to the night (tools/ci/night.ts), and of the others those whose turn it is (tools/ci/turns.ts).
// --turn: which of the turns, 0 to 3; without it the commit that is checked out says which.
// A literal `--`, which pnpm hands through, is dropped. A run in which no test ran has failed.
// A whole run of the quick tests fails when one file takes more than its share of the processors, with the processes that it starts,
// or all together take more than theirs: tools/cpu/share.ts. The environment variable TEST_CPU_SECONDS sets a limit in seconds for every file of any run.
// What was skipped is named at the end. The environment variable TEST_REPORT names a file for the counts and the names, as JSON.
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startVitest, type TestModule } from 'vitest/node'
import { environmentOfBuilt } from './built.ts'
import { readTurn } from './ci/turns.ts'
import { startConsoleBuild } from './console-build.ts'
import { allowanceOf, problemOfAll, shareOf } from './cpu/share.ts'
import { cpuOf, showCpu } from './cpu/show.ts'
import { failedOf, showFailed, type Stray } from './failed-tests.ts'
import { memoryFolder } from './memory-folder.ts'
import { showSkipped, type SkippedTest } from './skipped-tests.ts'

const usage =
  'usage: test [FILE...] [--grep TEXT | -t TEXT] [--watch] [--proof] [--landing [--turn N] | --whole]'
const workspace = resolve(import.meta.dirname, '..')

// Workers, and the processes that tests start, take the compiled code of those before them: a start costs half as much.
process.env['NODE_COMPILE_CACHE'] ??= join(workspace, 'node_modules/.cache/compiled')

// What is given to Vitest beside its configuration does not come to its projects.
process.env['TEST_FOLDER'] = process.cwd()

const { values: flags, positionals: files } = readFlags(process.argv.slice(2).filter((arg) => arg !== '--'))
// Processes, and threads of stores, that tests start take half the time with the packages as they are built for users.
if (!flags.watch) Object.assign(process.env, await environmentOfBuilt())
// Temporary files of quick tests lie in memory; the long ones have a disk.
const memory =
  flags.proof || flags.watch || files.some((it) => it.includes('.proof.')) ? undefined : memoryFolder()
// The browser of the console's tests is unpacked once for all runs.
if (memory !== undefined) Object.assign(process.env, { LASTING_TMPDIR: tmpdir(), TMPDIR: memory })
// tools/draws.ts, in each worker.
if (flags.whole) process.env['WHOLE_PROOF'] = '1'
// vitest.config.ts, and tools/cpu/runner.ts in each worker.
if (flags.landing) process.env['TEST_TURN'] = String(turnOfLanding())
const isWhole = !flags.proof && files.length === 0 && flags.grep === undefined && process.cwd() === workspace
// The quick tests of the console look at its pages. Vite and what it needs have an install of their own, and are no part of what its file of tests takes.
const endBuild = isWhole ? startConsoleBuild() : undefined
const vitest = await startVitest('test', files, {
  root: workspace,
  project: flags.proof
    ? ['proof']
    : files.some((file) => file.includes('.proof.'))
      ? ['fast', 'proof']
      : ['fast'],
  run: !flags.watch,
  watch: flags.watch,
  passWithNoTests: true,
  ...(flags.grep === undefined ? {} : { testNamePattern: flags.grep }),
})

if (!flags.watch) {
  endBuild?.()
  const modules = vitest.state.getTestModules()
  const skippedTests = skippedOf(modules)
  const strays = vitest.state.getUnhandledErrors() as readonly Stray[]
  const counts = {
    ...count(modules, strays.length),
    skipped: skippedTests.length,
  }
  const failedTests = failedOf(modules, strays)
  const cpu = cpuOf(modules)
  const report = process.env['TEST_REPORT']
  if (report !== undefined)
    writeFileSync(
      report,
      `${JSON.stringify({ ...counts, skippedTests, failedTests, cpu, ranTests: ranOf(modules) })}\n`,
    )
  console.log(showCpu(cpu))
  console.log(showSkipped(skippedTests))
  if (failedTests.length > 0) console.log(`failed: ${failedTests.length}\n${showFailed(failedTests)}`)
  if (counts.passed + counts.failed === 0) {
    console.error(
      flags.grep === undefined ? 'No test ran.' : `No test ran: none is named like "${flags.grep}".`,
    )
  }
  const limit = Number(process.env['TEST_CPU_SECONDS'] ?? (isWhole ? shareOf(cpu) : Infinity))
  const slow = cpu.filter(({ file, seconds }) => seconds > limit * allowanceOf(file))
  for (const { file, seconds } of slow) {
    console.error(
      `${file} took ${seconds.toFixed(1)} s of the processors, ${(limit * allowanceOf(file)).toFixed(1)} s are allowed: make its tests cheaper, or move them to a *.proof.test.ts`,
    )
  }
  const tooMuch = isWhole ? problemOfAll(cpu) : undefined
  if (tooMuch !== undefined) console.error(tooMuch)
  if (counts.passed === 0 || counts.failed > 0 || slow.length > 0 || tooMuch !== undefined)
    process.exitCode = 1
}

function readFlags(args: string[]) {
  try {
    const given = parseArgs({
      args,
      allowPositionals: true,
      options: {
        grep: { type: 'string', short: 't' },
        watch: { type: 'boolean', default: false },
        proof: { type: 'boolean', default: false },
        whole: { type: 'boolean', default: false },
        landing: { type: 'boolean', default: false },
        turn: { type: 'string' },
      },
    })
    if (given.values.turn !== undefined && !given.values.landing)
      return refuse('--turn is of a landing: give --landing with it')
    return given
  } catch (error) {
    return refuse((error as Error).message)
  }
}

/** The turn that was asked for, or that of the commit; says which it is. */
function turnOfLanding(): number {
  const asked = readTurn(flags.turn)
  if ('wrong' in asked) return refuse(asked.wrong)
  console.log(asked.said)
  return asked.turn
}

function refuse(why: string): never {
  console.error(`${why}\n${usage}`)
  process.exit(2)
}

/** A file that could not be loaded, or an error outside any test, counts as one failed test. */
function count(modules: TestModule[], strayErrors: number) {
  const counts = { passed: 0, failed: strayErrors }
  for (const module of modules) {
    let failedHere = 0
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') counts.passed += 1
      else if (state === 'failed') failedHere += 1
    }
    counts.failed += failedHere === 0 && !module.ok() ? 1 : failedHere
  }
  return counts
}

/** What neither passed nor failed, without what was not asked for by its name. */
function skippedOf(modules: TestModule[]): SkippedTest[] {
  const asked = new RegExp(flags.grep ?? '')
  return modules.flatMap((module) =>
    [...module.children.allTests()]
      .filter((test) => !['passed', 'failed'].includes(test.result().state) && asked.test(test.fullName))
      .map((test) => ({ file: relative(workspace, module.moduleId), name: test.fullName })),
  )
}

/** The names of the tests that passed or failed, by file. */
function ranOf(modules: TestModule[]): Readonly<Record<string, readonly string[]>> {
  const ran = (module: TestModule) =>
    [...module.children.allTests()]
      .filter((test) => ['passed', 'failed'].includes(test.result().state))
      .map((test) => test.fullName)
  return Object.fromEntries(modules.map((module) => [relative(workspace, module.moduleId), ran(module)]))
}
