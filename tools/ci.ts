// Runs everything that must hold before a change lands, after an install. The last line is `N passed, N failed`: every test, and one for
// each stage. Each stage has a line with its seconds and, in brackets, those of the processors: of all its processes that were waited for.
//
//   node tools/ci.ts [--nightly] [--seed N] [--turn N] [--only TEXT]
//
// --nightly: the long versions of what draws its cases; --seed: the first simulated life, so that each night plays others.
// --turn: which part of what takes turns a landing runs, 0 to 3; without it the commit that is checked out says so (tools/ci/turns.ts).
// --only: the stage of that name, or the stages whose name holds the text, whoever's turn it is.
import { spawn } from 'node:child_process'
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { type Scenario, onlyThese, toMeasureAgain } from './ci/measure-again.ts'
import { inOrder, type Later } from './ci/side-by-side.ts'
import { leftToTheNight } from './ci/night.ts'
import { type Stage, stagesOf } from './ci/stages.ts'
import { readTurn } from './ci/turns.ts'
import type { Missed } from './mutants/verdict.ts'
import { type FailedTest, filesToRepeat, showFailed } from './failed-tests.ts'

const workspace = resolve(import.meta.dirname, '..')
const { values: flags } = parseArgs({
  options: {
    nightly: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    turn: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const asked =
  flags.nightly && flags.turn !== undefined
    ? { wrong: '--turn is of a landing: a night runs all turns' }
    : readTurn(flags.turn)
if ('wrong' in asked) {
  console.error(`${asked.wrong}\nusage: node tools/ci.ts [--nightly] [--seed N] [--turn N] [--only TEXT]`)
  process.exit(2)
}
const { turn } = asked
const minutes = flags.nightly ? 240 : 30
const logs = mkdtempSync(join(tmpdir(), 'ci-'))
process.once('exit', () => rmSync(logs, { recursive: true, force: true }))

const counts = { passed: 0, failed: 0 }
const testReports: string[] = []
/** What failed once and passed when it ran alone. */
const passedAlone: string[] = []
/** What failed, a line each: repeated at the end, since a long output is often cut in its middle. */
const failures: string[] = []
const began = performance.now()
const all = stagesOf(flags.nightly ? 'nightly' : 'landing', { seed: Number(flags.seed), turn })
const isDue = (stage: Stage): boolean => stage.turn === undefined || stage.turn === turn || flags.only !== ''
const stages = all.filter(isDue)
// A whole name means that stage alone, though others may hold it.
const named = stages.filter(({ name }) => name === flags.only)
const chosen = named.length > 0 ? named : stages.filter(({ name }) => name.includes(flags.only))
if (!flags.nightly) console.log(asked.said)
await inOrder(chosen, availableParallelism(), run)
if (testReports.length > 0) {
  const reports = testReports.map((file) => `'${file}'`).join(' ')
  const name = 'no rule rests on a skipped test'
  const isAll = stages.every((stage) => stage.hasTests !== true || chosen.includes(stage))
  await run({ name, command: `node tools/skipped-tests.ts ${isAll ? '--all ' : ''}${reports}`, tells: true })
}
const notDue = all.filter((stage) => !isDue(stage)).map(({ name }) => name)
if (notDue.length > 0) console.log(['left to other turns:', ...notDue.map((name) => `  ${name}`)].join('\n'))
if (!flags.nightly && chosen.some(({ name }) => name === 'the long tests'))
  console.log(['left to the night:', ...leftToTheNight.map(({ file }) => `  ${file}`)].join('\n'))
if (passedAlone.length > 0)
  console.log(['what failed beside other tests, and passed alone:', ...passedAlone].join('\n'))
if (failures.length > 0) console.log(['what failed:', ...failures].join('\n'))
console.log(`all in ${seconds(began)} s`)
console.log(`${counts.passed} passed, ${counts.failed} failed`)
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0

/** What tools/test.ts writes. */
interface TestReport {
  readonly passed: number
  readonly failed: number
  readonly failedTests: readonly FailedTest[]
}

/** Runs a stage to its end, says how it went, and counts it. What failed beside others may be left to run once more when all have ended. */
async function run(stage: Stage): Promise<Later | undefined> {
  const started = performance.now()
  const log = join(logs, stage.name.replaceAll(' ', '-'))
  const testReport = `${log}.json`
  const env = {
    ...(stage.hasTests === true ? { TEST_REPORT: testReport } : {}),
    // Each start of Node reads what those before it have compiled.
    ...(stage.isTimed === true
      ? {}
      : { NODE_COMPILE_CACHE: join(workspace, 'node_modules/.cache/compiled') }),
  }
  const missed = `${log}.missed.json`
  const command = stage.plants === true ? `${stage.command} --missed '${missed}'` : stage.command
  let { code, cpu } = await execute(command, log, env)
  for (let more = 2; code !== 0 && more > 0 && stage.measures !== undefined; more -= 1) {
    const scenarios = scenariosIn(stage.measures)
    const again = toMeasureAgain(scenarios)
    if (again.length === 0) break
    for (const { id, reason } of scenarios.filter((it) => again.includes(it.id)))
      console.log(`measured again: ${id}: ${reason}`)
    const repeated = await execute(onlyThese(stage.command, again), log, env)
    code = repeated.code
    cpu += repeated.cpu
  }
  if (stage.hasTests === true && existsSync(testReport)) {
    testReports.push(testReport)
    const { passed, failed, failedTests } = JSON.parse(readFileSync(testReport, 'utf8')) as TestReport
    counts.passed += passed
    const again = stage.repeatsAlone === true ? filesToRepeat(failedTests, failed) : []
    if (again.length > 0) {
      console.log(`repeats ${tookOf(started, cpu)}  ${stage.name}, when all have ended: ${again.join(', ')}`)
      return () => repeat(stage, again, { failed, failedTests, log })
    }
    counts.failed += failed
    if (failedTests.length > 0) failures.push(showFailed(failedTests))
  }
  const notKilled = code !== 0 && existsSync(missed) ? readMissed(missed) : []
  // Where more than eight were missed, it is not the load of the machine.
  if (notKilled.length > 0 && notKilled.filter(({ isLost }) => isLost !== true).length <= 8) {
    console.log(
      `repeats ${tookOf(started, cpu)}  ${stage.name}, when all have ended:\n${showMissed(notKilled)}`,
    )
    return () => plantAgain(stage, missed, notKilled)
  }
  end(stage, code, tookOf(started, cpu), log)
  return undefined
}

/** Plants those faults once more that were missed beside other stages, and ends the stage. */
async function plantAgain(stage: Stage, missed: string, before: readonly Missed[]): Promise<void> {
  const started = performance.now()
  const log = `${missed}.log`
  const still = `${missed}.again.json`
  const { code, cpu } = await execute(`${stage.command} --again '${missed}' --missed '${still}'`, log, {})
  if (code === 0) passedAlone.push(showMissed(before))
  else if (existsSync(still)) failures.push(showMissed(readMissed(still)))
  end({ ...stage, name: `${stage.name}, alone` }, code, tookOf(started, cpu), log)
}

function readMissed(file: string): readonly Missed[] {
  return JSON.parse(readFileSync(file, 'utf8')) as readonly Missed[]
}

/** A line for each. */
function showMissed(missed: readonly Missed[]): string {
  return missed.map(({ name, why }) => `  ${name}: ${why}`).join('\n')
}

/** Runs files of a stage's tests once more, one after the other, and ends the stage. */
async function repeat(
  stage: Stage,
  files: readonly string[],
  { failed, failedTests, log }: Pick<TestReport, 'failed' | 'failedTests'> & { readonly log: string },
): Promise<void> {
  const started = performance.now()
  let cpu = 0
  let stillFails: string | undefined
  for (const [index, file] of files.entries()) {
    const ownLog = `${log}-alone-${index}`
    const repeated = await execute(`${stage.command} '${file}'`, ownLog, {})
    cpu += repeated.cpu
    if (repeated.code !== 0) stillFails ??= ownLog
  }
  const isMended = stillFails === undefined
  counts[isMended ? 'passed' : 'failed'] += failed
  const told = isMended ? passedAlone : failures
  told.push(showFailed(failedTests))
  end({ ...stage, name: `${stage.name}, alone` }, isMended ? 0 : 1, tookOf(started, cpu), stillFails ?? log)
}

/** Counts a stage, and says how it went. */
function end(stage: Stage, code: number, took: string, log: string): void {
  if (code !== 0) failures.push(stage.name)
  counts[code === 0 ? 'passed' : 'failed'] += 1
  const said = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-150).join('\n')
  if (code !== 0) console.log(`FAILED  ${took}  ${stage.name}: ${stage.command}\n${said}`)
  else console.log(`ok      ${took}  ${stage.name}${stage.tells === true ? `\n${said}` : ''}`)
}

/** The seconds since then and, in brackets, those of the processors. */
function tookOf(started: number, cpu: number): string {
  return `${`${seconds(started)} s`.padStart(7)} ${`(${Math.round(cpu)} s)`.padStart(7)}`
}

/** The exit code, 124 for a command that was ended because it took too long, and the seconds that the processors spent on it. */
async function execute(
  command: string,
  log: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly cpu: number }> {
  const file = createWriteStream(log)
  const times = `${log}.cpu`
  const child = spawn('bash', ['-c', `trap "times > '${times}'" EXIT\n${command}`], {
    cwd: workspace,
    // A group of its own, so that a stage that hangs ends with all that it has started.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', npm_config_loglevel: 'error', ...env },
  })
  child.stdout.pipe(file, { end: false })
  child.stderr.pipe(file, { end: false })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }, minutes * 60_000)
  const code = await new Promise<number>((ended) => {
    child.once('error', () => ended(127))
    child.once('close', (status) => ended(status ?? 1))
  })
  clearTimeout(timer)
  if (isLate) file.write(`\nended after ${minutes} minutes\n`)
  file.end()
  await finished(file)
  return { code: isLate ? 124 : code, cpu: cpuSeconds(times) }
}

/** What `times` of bash has written of itself and of its children. */
function cpuSeconds(file: string): number {
  if (!existsSync(file)) return 0
  const parts = [...readFileSync(file, 'utf8').matchAll(/(\d+)m([\d.]+)s/g)]
  return parts.reduce((sum, [, minute, second]) => sum + Number(minute) * 60 + Number(second), 0)
}

function scenariosIn(report: string): readonly Scenario[] {
  const file = join(workspace, report)
  if (!existsSync(file)) return []
  return (JSON.parse(readFileSync(file, 'utf8')) as { scenarios: Scenario[] }).scenarios
}

function seconds(since: number): number {
  return Math.round((performance.now() - since) / 1000)
}
