// Changes sources at every place that means something, one place at a time, and lets their tests find it. Takes two to five hours for all of the core,
// so it is no part of continuous integration. The sources are changed in a copy of the last commit: yours stay as they are.
//
//   node tools/stryker.ts [--of AREA] [--keep FILE] [--draw SEED:FROM-TO [--minutes N]] [--direct] [PATTERN…]
//
// --of AREA: core, runtime or persistence; tools/stryker/areas.ts says which sources that are, and which tests have to notice. The core by
// default. The core alone has to reach a score.
// PATTERN: files of the area, such as 'queue/*.ts'; all of them by default.
// --keep FILE: keeps the results of several runs, each file's last one.
// --draw SEED:FROM-TO: draws some of the changes by chance, such as the first 0.02 of all by the seed a, and says between which rates that of all lies.
// A part that follows, such as a:0.02-0.04, makes the draw larger as long as the commit is the same. It takes the whole core.
// --minutes N: ends a draw after so long. It is smaller then.
// --direct: the area's direct tests alone have to notice. For what all the others rest on: there each change is met by thousands of tests.
//
// STRYKER_CONCURRENCY: so many changes at a time; one a core by default.
//
// The result is printed as a page for docs/evidence/, all else goes where errors go.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { areaOf, areas, textsOf } from './stryker/areas.ts'
import type { DrawLine } from './stryker/draw.ts'
import { problemOfKept, readOptions } from './stryker/options.ts'
import { type Sample, sampleOf, samplePageOf, shortfallOf } from './stryker/sample.ts'
import {
  digestOf,
  evidenceOf,
  type FileScore,
  kept,
  type KeptScore,
  type Report,
  scoresOf,
  shortfalls,
} from './stryker/scores.ts'

const workspace = resolve(import.meta.dirname, '..')
const options = readOptions(process.argv.slice(2))
if ('wrong' in options) refuse(options.wrong)
const { name, keep, draw, minutes, direct, patterns } = options
const area = areaOf(name) ?? areas.core
const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: workspace, encoding: 'utf8' }).trim()
const before = keptIn()
const problem = problemOfKept(before, draw, commit)
if (problem !== undefined) refuse(problem)

const copy = mkdtempSync(join(tmpdir(), 'ku0-stryker-'))
try {
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', workspace, copy])
  call('npx', ['-y', 'pnpm@12.21.0', 'install', '--frozen-lockfile', '--prefer-offline', '--silent'])
  const texts = textsOf(area, copy)
  const report = join(copy, 'node_modules', 'stryker.json')
  const config = join(copy, 'node_modules', 'stryker.config.json')
  const mutate = (patterns.length === 0 ? area.files : patterns).map((file) => `${area.sources}/${file}`)
  const excluded = area.excluded.map((file) => `!${area.sources}/${file}`)
  const settings = {
    testRunner: area.isPure ? 'one-process' : 'vitest',
    plugins: [
      area.isPure ? join(copy, 'tools/stryker/one-process.ts') : '@stryker-mutator/vitest-runner',
      ...(draw === undefined ? [] : [join(copy, 'tools/stryker/draw.ts')]),
    ],
    checkers: draw === undefined ? [] : ['draw'],
    vitest: { configFile: 'tools/stryker/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    // Workspace packages find each other by links, which a copy of the sources alone would leave.
    inPlace: true,
    // Nobody checks types in the copy, and to say so in each of its files takes half a minute.
    disableTypeChecks: false,
    // Values that are worked out when a module is loaded cannot be told apart by test.
    ignoreStatic: true,
    mutate: [...mutate, ...excluded],
    mutator: { excludedMutations: area.unchanged },
    concurrency: Number(process.env['STRYKER_CONCURRENCY'] ?? availableParallelism()),
    // All tests once; on a machine with other work they take longer than the five minutes that are the default.
    dryRunTimeoutMinutes: 60,
    timeoutMS: 60_000,
    reporters: [
      process.stderr.isTTY ? 'progress' : 'progress-append-only',
      draw === undefined ? 'json' : 'draw',
    ],
    jsonReporter: { fileName: report },
    tempDirName: join(copy, 'node_modules', '.stryker'),
  }
  writeFileSync(config, JSON.stringify(settings))
  const stryker = join(copy, 'node_modules/@stryker-mutator/core/bin/stryker.js')
  call(process.execPath, [stryker, 'run', config], minutes)
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.versions.node}`
  const date = new Date().toISOString().slice(0, 10)
  const run = { commit, date, machine }
  if (draw === undefined)
    keepScores(scoresOf(JSON.parse(readFileSync(report, 'utf8')) as Report, area.sources), texts, run)
  else {
    const file = join(copy, 'node_modules', 'drawn.jsonl')
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
    const found = lines.map((line) => JSON.parse(line) as DrawLine)
    keepSample({ ...run, ...(direct ? { direct } : {}), ...sampleOf(draw, found, area.sources) })
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}

/** Its output goes where errors go: the page alone is printed. */
function call(command: string, args: readonly string[], mostMinutes?: number): void {
  const { status, error } = spawnSync(command, args, {
    cwd: copy,
    env: {
      ...process.env,
      STRYKER_AREA: name,
      STRYKER_DRAW: draw === undefined ? '' : `${draw.seed}:${draw.from}-${draw.to}`,
      STRYKER_DRAWN: join(copy, 'node_modules', 'drawn.jsonl'),
      DIRECT_TESTS: direct ? '1' : '',
    },
    stdio: ['ignore', process.stderr.fd, 'inherit'],
    ...(mostMinutes === undefined ? {} : { timeout: mostMinutes * 60_000 }),
  })
  const isOver = error !== undefined && 'code' in error && error.code === 'ETIMEDOUT'
  if (status !== 0 && !isOver) throw new Error(`${command} ${args.join(' ')} ended with ${status}`)
}

/** Keeps the results of a whole run, and prints them. */
function keepScores(
  scores: readonly FileScore[],
  texts: ReadonlyMap<string, string>,
  run: Pick<KeptScore, 'commit' | 'date' | 'machine'>,
): void {
  const all = kept(
    before as readonly KeptScore[],
    scores.map((score) => ({ ...score, text: digestOf(texts.get(score.file) ?? ''), direct, ...run })),
  )
  keepAll(all)
  console.log(evidenceOf(all, textsOf(area, workspace)))
  const lacks = area.hasBar ? shortfalls(scores) : []
  for (const line of lacks) console.error(line)
  process.exitCode = lacks.length === 0 ? 0 : 1
}

/** Keeps what became of a draw, and prints it with what belongs to it. */
function keepSample(sample: Sample): void {
  if (sample.noticed + sample.unnoticed.length === 0) {
    console.error('No change was judged: draw more, or give it more minutes.')
    process.exitCode = 1
    return
  }
  const all = [...(before as readonly Sample[]), sample]
  keepAll(all)
  console.log(samplePageOf(all))
  const lack = shortfallOf(all)
  if (lack === undefined) return
  console.error(lack)
  process.exitCode = 1
}

function keptIn(): readonly (Sample | KeptScore)[] {
  if (keep === undefined || !existsSync(keep)) return []
  try {
    const all: unknown = JSON.parse(readFileSync(keep, 'utf8'))
    if (Array.isArray(all)) return all as readonly (Sample | KeptScore)[]
  } catch {
    // It is told below.
  }
  return refuse(`${keep} is no file that --keep has written`)
}

function refuse(why: string): never {
  console.error(why)
  process.exit(2)
}

function keepAll(all: readonly unknown[]): void {
  if (keep !== undefined) writeFileSync(keep, `${JSON.stringify(all, undefined, 2)}\n`)
}
