// Shows that tests notice faults: each mutant is planted into the sources as they are loaded, and the tests that name its rule have to
// fail. They pass without it, or the mutant proves nothing.
//
//   node tools/mutants.ts [TEXT]    those whose name holds the text, or all
import { readFileSync } from 'node:fs'
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

for (const { file, edits, name } of chosen) {
  const text = readFileSync(resolve(workspace, file), 'utf8')
  edits.reduce((left, [find, replace]) => edited(left, find, replace, name), text)
}

const survivors: string[] = []
for (const mutant of chosen) {
  const began = performance.now()
  const { failed, passed } = await run(mutant)
  const killed = failed > 0
  if (!killed) survivors.push(mutant.name)
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(
    `${killed ? 'killed  ' : 'SURVIVED'} ${seconds.padStart(5)} s  ${mutant.name}: ${failed} of ${failed + passed} tests fail`,
  )
}

const sound = await baseline(chosen)
console.log(
  `${chosen.length - survivors.length} of ${chosen.length} mutants killed; without them ${sound.passed} tests pass, ${sound.failed} fail`,
)
if (survivors.length > 0) console.error(`Not noticed: ${survivors.join('; ')}`)
if (survivors.length > 0 || sound.failed > 0 || sound.passed === 0) process.exit(1)
process.exit(0)

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
