import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { inTurn, turns } from './turns.ts'

/** One thing that must hold before a change lands: a command that ends with 0. */
export interface Stage {
  readonly name: string
  /** Run by bash at the root of the workspace. */
  readonly command: string
  /** How many cores it keeps busy. Stages run beside each other while the machine has as many. Default: all of them, so it runs alone. */
  readonly cores?: number
  /** A landing of another turn leaves it out. */
  readonly turn?: number
  /** It measures times: it is run as it would be by hand, and takes no compiled code of the stages before it. */
  readonly isTimed?: boolean
  /** What it prints is shown, also when it passes. */
  readonly tells?: boolean
  /** Runs quick or long tests: each test counts, and skipped ones are looked at afterwards. */
  readonly hasTests?: boolean
  /** A file of tests that failed runs once more, alone, when all stages have ended: other tests load the machine and share the process before. The output names it. */
  readonly repeatsAlone?: boolean
  /** Plants faults, and says which of them were missed: those are planted once more when all stages have ended. */
  readonly plants?: boolean
  /** Writes the gym's report: scenarios that missed nothing but times or rates are measured again. */
  readonly measures?: string
}

/** `landing`: before each change. `nightly`: the long versions of what draws its cases. */
export type Length = 'landing' | 'nightly'

/** So many simulated lifetimes of processes a landing plays. */
export const livesOfLanding = 50

/** As the README tells a reader to call it. */
const npx = 'npx -y pnpm@12.21.0'
/** That pnpm, which `.ci/run` puts on the PATH: npx takes a second of a processor to find it again. */
const pnpm = 'pnpm'
const gym = `${pnpm} --filter @ku0/agent-gym gym:run --`
/** The packages were built before, and the pages of the console with them. */
const built = 'if node tools/built.ts; then export CONSOLE_IS_BUILT=1; fi; '
const packed = 'node_modules/.cache/packed'
const report = 'packages/agent-gym/reports/q4-execution-scale.json'
const untimedReport = 'packages/agent-gym/reports/q4-untimed.json'
const benchmarks = 'packages/agent-gym/benchmarks/q4'

/** The README's command of the gym runs it: no bar of it is a time or a rate, and so no other stage runs it again. */
const shownScenario = 'backpressure-bounds'

/** The other easy scenarios: those whose bars are times or rates, which a neighbour would spoil, or those of which every bar is a count. */
function easyScenarios(areTimed: boolean): readonly string[] {
  const folder = resolve(import.meta.dirname, '../..', benchmarks)
  return globSync('*.json', { cwd: folder })
    .toSorted()
    .map((file) => JSON.parse(readFileSync(resolve(folder, file), 'utf8')) as Bars)
    .filter(
      ({ id, difficulty, arrivals }) =>
        id !== shownScenario && difficulty === 'easy' && arrivals.every(({ how }) => how !== 'trace'),
    )
    .filter(({ expect }) => expect.some(({ measure }) => /Ms\b|PerSec\b/.test(measure)) === areTimed)
    .map(({ id }) => id)
}

const only = (ids: readonly string[]): string => ids.map((id) => `--only ${id}`).join(' ')

/** What of a scenario's file says whether its figures are times. */
interface Bars {
  readonly id: string
  readonly difficulty: string
  readonly arrivals: readonly { readonly how: string }[]
  readonly expect: readonly { readonly measure: string }[]
}
/** The scenarios that are not easy, and need no trace. Some take minutes, one of them up to three quarters of an hour. */
const longScenarios = [
  'quota-tokens',
  'crash-loop',
  'rolling-restart',
  'two-processes-2000',
  'throughput-drain-full',
  'throughput-steps-full',
  'chaos-10000',
  'supervised-kills',
  'supervised-storm-1000',
  'stream-kills-full',
  'marketplace-100',
  'credits-kills',
]
const longReport = 'packages/agent-gym/reports/medium-and-hard.json'

/**
 * In the order in which they start. What a later stage reads, an earlier one that runs alone has written. `turn` is that of the landing: it runs
 * a part of what takes turns (docs/decisions/0092-a-landing-takes-a-quarter.md).
 */
export function stagesOf(length: Length, { seed = 1, turn = 0 } = {}): readonly Stage[] {
  const pick = <T>(landing: T, nightly: T): T => (length === 'landing' ? landing : nightly)
  const seeds = `${seed}..${seed + pick(livesOfLanding, 20_000) - 1}`
  const part = <T>(list: readonly T[]): readonly T[] => pick(inTurn(list, turn), list)
  /** What of it a landing does takes so long that it is left to one of the turns. */
  const every = (theTurn: number): Pick<Stage, 'turn'> => pick({ turn: theTurn % turns }, {})
  return [
    {
      name: 'types',
      command: `node packages/agent-runtime-console/app/install.ts && ${pnpm} exec tsc -b`,
      cores: 1,
    },
    { name: 'format', command: `${pnpm} exec oxfmt --check`, cores: 1 },
    { name: 'plain English in the pages', command: `${pnpm} check:prose`, cores: 1 },
    // Alone, since the stages after it need what the first one has installed: the build of the console's pages, the linter and the check for dead code.
    {
      name: 'the README names its two commands',
      command: `grep -qxF '${npx} gym' README.md && grep -qxF '${npx} test' README.md`,
    },
    // The long tests and the check of the packages take what it packs.
    {
      name: 'what a release would publish',
      command: `rm -rf ${packed} && ${pnpm} release --dry-run --pack ${packed}`,
      cores: 1,
      tells: true,
    },
    { name: 'the public API is as recorded', command: `${pnpm} check:api`, cores: 1 },
    // Times are measured on a machine that does nothing else.
    {
      name: 'the gym',
      command: `${gym} ${only(part(easyScenarios(true)))} --benchmarks ${benchmarks} --report ${report}`,
      measures: report,
      isTimed: true,
    },
    {
      name: 'no workload has lost a fifth of its speed',
      command: `${pnpm} bench:smoke`,
      tells: true,
      isTimed: true,
    },
    {
      name: 'promises with a figure',
      command: `${pnpm} promises${pick(' --restarts 0 --orders 0 --bursts 0 --cancels 0 --reconnects 0 --edits 0', '')}`,
      isTimed: true,
    },
    { name: 'the quick tests', command: `${built}${pnpm} test`, hasTests: true, repeatsAlone: true },
    // At a landing these wait for processes and disks so often that the stages below run beside them. At night they draw so much that they run alone.
    {
      name: 'the long tests',
      command: `${built}${pick('', 'MODEL_RUNS=400 PROGRAM_RUNS=400 ')}${pnpm} test:proof${pick(` --landing --turn ${turn}`, ' --whole')}`,
      ...pick({ cores: 1 }, {}),
      hasTests: true,
      repeatsAlone: true,
    },
    {
      name: 'planted faults are noticed',
      command: `${pnpm} mutants${pick(` --tests-passed --turn ${turn}`, '')}`,
      cores: 1,
      plants: true,
    },
    {
      name: 'the documentation site, in a browser',
      command: `${pnpm} site && ${pnpm} check:site${pick(' --some', '')}`,
      cores: 1,
      ...every(0),
    },
    { name: 'lint and the bans', command: `${pnpm} lint`, cores: 1 },
    {
      name: 'code blocks of the documentation',
      command: `${pnpm} check:docs${pick('', ' --alone')}`,
      cores: 1,
    },
    {
      name: 'packed packages',
      command: `if node tools/built.ts; then given='--packed ${packed}'; fi; ${pnpm} check:packages $given${pick(turn === 1 ? ' --some' : ' --few', '')}`,
      cores: 1,
    },
    {
      name: 'a soak',
      command: `${pnpm} soak ${pick('--tasks 2000', '--minutes 30')}`,
      cores: 1,
      ...every(2),
    },
    {
      name: 'the simulation',
      command: `${pnpm} sim${pick(' --threads 1', '')} --seeds ${seeds}`,
      ...pick({ cores: 1 }, {}),
    },
    {
      name: 'what the gym counts',
      command: `${gym} ${only(part(easyScenarios(false)))} --benchmarks ${benchmarks} --report ${untimedReport}`,
      measures: untimedReport,
      cores: 1,
    },
    {
      name: 'the README command of the gym',
      // The report of "the gym" is gone first, and read by no stage after it.
      command: `rm -f ${report} && ${npx} gym --only ${shownScenario} && test -s ${report}`,
      isTimed: true,
      cores: 1,
    },
    { name: 'dead code', command: `${pnpm} exec knip`, cores: 1 },
    {
      name: 'tests by name in one package',
      command: `${pnpm} --filter @ku0/agent-runtime test -- --grep "${pick('execution: preemption', 'execution')}"`,
      cores: 1,
    },
    { name: 'a filter that matches nothing fails', command: `! ${pnpm} --filter @ku0/nope test`, cores: 1 },
    {
      name: 'a name that no test has fails',
      command: `! ${pnpm} --filter @ku0/agent-runtime-telemetry test -- --grep 'no test has this name'`,
      cores: 1,
    },
    // Short ones of kills, of races and of everybody at once are long tests, which a landing leaves to the night too (night.ts).
    ...pick(
      [],
      [
        { name: 'kills', command: `${pnpm} kills --kills 1000`, cores: 1 },
        {
          name: 'races',
          command: `${pnpm} races --cancels 10000 --stops 500 --histories 30`,
          cores: 1,
        },
        {
          name: 'the medium and hard scenarios of the gym',
          command: `${gym} --suite all ${only(longScenarios)} --benchmarks ${benchmarks} --report ${longReport}`,
          measures: longReport,
          isTimed: true,
          tells: true,
        },
        { name: 'the store on PostgreSQL 15', command: `${pnpm} test:postgres-15 --whole` },
        { name: 'the store behind a pooler', command: `${pnpm} test:pooler --whole` },
        {
          name: 'everybody at once',
          command: `AT_ONCE_SECONDS=300 ${pnpm} --filter @ku0/agent-runtime-persistence test --proof everybody-at-once`,
        },
      ],
    ),
  ]
}
