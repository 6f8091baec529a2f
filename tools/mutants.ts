// Shows that tests notice faults: each mutant is planted into the sources as they are loaded, and the tests that name its rule have to
// fail. They pass without it, or the mutant proves nothing.
//
//   node tools/mutants.ts [TEXT]    those whose name holds the text, or all
import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { startVitest } from 'vitest/node'
import { type Mutant, mutants } from './mutants/list.ts'
import { edited, mutating } from './mutants/plugin.ts'

const workspace = resolve(import.meta.dirname, '..')
const wanted = process.argv.slice(2).find((arg) => arg !== '--') ?? ''
const chosen = mutants.filter(({ name }) => name.includes(wanted))
if (chosen.length === 0) {
  console.error(`No mutant is named like "${wanted}".`)
  process.exit(2)
}

/** What came of some of the mutants. */
interface Outcome {
  readonly survivors: readonly string[]
  /** Of their tests without any mutant. */
  readonly passed: number
  readonly failed: number
}

// A process told so plants a part of them: the first message that it gets says which.
if (process.send !== undefined) {
  process.once('message', (names: readonly string[]) => {
    void plant(mutants.filter(({ name }) => names.includes(name))).then((outcome) =>
      process.send?.(outcome, () => process.exit(0)),
    )
  })
} else {
  const outcomes = await Promise.all(partsOf(chosen, availableParallelism()).map(inProcess))
  const survivors = outcomes.flatMap((outcome) => outcome.survivors)
  const [passed, failed] = [sumOf(outcomes.map((it) => it.passed)), sumOf(outcomes.map((it) => it.failed))]
  console.log(
    `${chosen.length - survivors.length} of ${chosen.length} mutants killed; without them ${passed} tests pass, ${failed} fail`,
  )
  if (survivors.length > 0) console.error(`Not noticed: ${survivors.join('; ')}`)
  process.exit(survivors.length > 0 || failed > 0 || passed === 0 ? 1 : 0)
}

/** As many parts as given, at most; mutants of one file of tests stay together. */
function partsOf(all: readonly Mutant[], count: number): readonly (readonly Mutant[])[] {
  const parts: Mutant[][] = Array.from({ length: count }, () => [])
  const byFile = [...Map.groupBy(all, ({ killedBy: [file] }) => file).values()]
  for (const those of byFile.toSorted((a, b) => b.length - a.length))
    parts.toSorted((a, b) => a.length - b.length)[0]?.push(...those)
  return parts.filter(({ length }) => length > 0)
}

async function inProcess(part: readonly Mutant[]): Promise<Outcome> {
  const child = fork(import.meta.filename)
  const outcome = new Promise<Outcome>((told, failed) => {
    child.once('message', (message) => told(message as Outcome))
    child.once('exit', (code) => failed(new Error(`a process that plants mutants ended with ${code}`)))
  })
  child.send(part.map(({ name }) => name))
  return outcome
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

async function plant(some: readonly Mutant[]): Promise<Outcome> {
  for (const { file, edits, name } of some) {
    const text = readFileSync(resolve(workspace, file), 'utf8')
    edits.reduce((left, [find, replace]) => edited(left, find, replace, name), text)
  }
  const survivors: string[] = []
  for (const mutant of some) {
    const began = performance.now()
    const { failed, passed } = await run(mutant)
    const killed = failed > 0
    if (!killed) survivors.push(mutant.name)
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log(
      `${killed ? 'killed  ' : 'SURVIVED'} ${seconds.padStart(5)} s  ${mutant.name}: ${failed} of ${failed + passed} tests fail`,
    )
  }
  return { survivors, ...(await baseline(some)) }
}

function run(mutant: Mutant) {
  const [file, name] = mutant.killedBy
  return runTests([file], name, [mutating(mutant)])
}

/** The same tests on the sources as they are. */
async function baseline(all: readonly Mutant[]) {
  const byFile = Map.groupBy(all, ({ killedBy: [file] }) => file)
  const sum = { passed: 0, failed: 0 }
  for (const [file, those] of byFile) {
    const names = new Set(those.map(({ killedBy: [, name] }) => name))
    const { passed, failed } = await runTests([file], [...names].join('|'), [])
    sum.passed += passed
    sum.failed += failed
  }
  return sum
}

async function runTests(files: string[], name: string, plugins: ReturnType<typeof mutating>[]) {
  const vitest = await startVitest(
    'test',
    files,
    {
      root: workspace,
      watch: false,
      reporters: [{}],
      // A module kept from another run would be without the fault, or with another's.
      fsModuleCache: false,
      testNamePattern: name,
    },
    { plugins },
  )
  const sum = { passed: 0, failed: 0 }
  for (const module of vitest.state.getTestModules())
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') sum.passed += 1
      if (state === 'failed') sum.failed += 1
    }
  await vitest.close()
  process.exitCode = 0
  return sum
}
