import { availableParallelism } from 'node:os'
import { Command, InvalidArgumentError } from 'commander'
import { counted, type Counts } from '../simulation/findings.ts'
import { missing } from '../simulation/minimums.ts'
import { plants } from '../simulation/plants.ts'
import { runSeeds, type SeedRange, type SeedsRun } from '../simulation/run-seeds.ts'
import { simulate, type Simulated } from '../simulation/simulate.ts'
import { currentCommit } from '../report/evidence.ts'
import { assertKeepable, keptIn } from '../report/kept.ts'
import { evidenceOf, keep, KeptRun, keptRun } from '../simulation/evidence.ts'
import { type ExitCode, exitCode, UsageError } from './exit-code.ts'
import { codeOf, type Console } from './run-command.ts'
import { parse } from './run-options.ts'
import { didYouMean } from './suggest.ts'

interface Flags {
  readonly seed?: number
  readonly seeds?: SeedRange
  readonly trace: boolean
  readonly plant?: string
  readonly plain?: boolean
  readonly structures: boolean
  readonly threads: number
  readonly evidence?: boolean
  readonly keep?: string
}

/** `pnpm sim`. Answers with its exit code. When the signal aborts, a range ends with what has been played of it. */
export async function simCommand(
  args: readonly string[],
  console: Console,
  signal: AbortSignal,
): Promise<ExitCode> {
  try {
    const flags = parse(
      simOptions(),
      args.filter((arg) => arg !== '--'),
    ) as Flags
    if (flags.seed !== undefined && flags.seeds !== undefined)
      throw new UsageError('--seed and --seeds: name one seed, or a range of them')
    if (flags.seed !== undefined) return await playOne(flags.seed, flags, console)
    if (!flags.trace || flags.plant !== undefined || flags.plain === true || !flags.structures)
      throw new UsageError('--no-trace, --plant, --plain and --no-structures are for one seed: add --seed N')
    return await playMany(flags.seeds ?? { first: 1, last: 200 }, flags, console, signal)
  } catch (error) {
    return codeOf(error, console)
  }
}

function simOptions(): Command {
  return new Command('sim')
    .description('Plays simulated lives of processes on one store, each drawn from its seed.')
    .option('--seed <n>', 'that life, again and again the same, with what happened in it', wholeNumber)
    .option('--no-trace', 'with --seed: say only what came of it')
    .option('--plant <bug>', 'with --seed: plant a bug, to see it found')
    .option('--plain', 'with --seed: without measured work and forks, as it was played before there were any')
    .option(
      '--no-structures',
      'with --seed: without supervisors, pipelines, ledgers and agreements, as it was played before there were any',
    )
    .option('--seeds <range>', 'every seed of a range, such as 1..2000 (default 1..200)', range)
    .option('--threads <n>', 'how many at a time', wholeNumber, availableParallelism())
    .option('--evidence', 'print the result as a page for docs/evidence/')
    .option('--keep <file>', 'add the result to those in this file; the page is of all of them then')
    .addHelpText(
      'after',
      `\nBugs to plant: ${Object.keys(plants).join('; ')}.\n\nExit codes: 0 every rule held and enough happened, 1 not so, 2 a wrong command line, 130 interrupted: what was played is told and kept.`,
    )
}

async function playOne(
  seed: number,
  { trace, plant: name, plain, structures }: Flags,
  console: Console,
): Promise<ExitCode> {
  const plant = name !== undefined && Object.hasOwn(plants, name) ? plants[name] : undefined
  if (name !== undefined && plant === undefined)
    throw new UsageError(`--plant: no bug '${name}'${didYouMean(name, Object.keys(plants))}`)
  const life = await simulate(seed, {
    trace,
    era: plain === true ? 'queue' : structures ? 'all' : 'work',
    ...(plant === undefined ? {} : { plant }),
  })
  for (const line of life.lines) console.out.write(`${line}\n`)
  console.out.write(
    `${textOf(life, [...(plain === true ? ['--plain'] : []), ...(structures ? [] : ['--no-structures']), ...(name === undefined ? [] : [`--plant '${name}'`])])}\n${countsText(life.counts)}\n`,
  )
  return life.violations.length === 0 ? exitCode.ok : exitCode.failed
}

async function playMany(
  asked: SeedRange,
  { threads, evidence, keep: file }: Flags,
  console: Console,
  signal: AbortSignal,
): Promise<ExitCode> {
  const before = file === undefined ? [] : keptIn(file, KeptRun)
  if (before === undefined) throw new UsageError(`--keep: ${file} holds no runs of the simulation`)
  if (file !== undefined) assertKeepable(file)
  // A seed counts once.
  const played = before.find(({ first, last }) => first <= asked.last && asked.first <= last)
  if (played !== undefined)
    throw new UsageError(
      `--keep: ${file} holds the seeds ${played.first} to ${played.last} already; name others, or take that run out of it`,
    )
  // As it is now: the sources may change while it runs.
  const commit = evidence === true || file !== undefined ? currentCommit() : ''
  const begunAt = performance.now()
  console.err.write(`plays seeds ${asked.first} to ${asked.last} on ${threads} threads\n`)
  let nextTold = 1_000
  const tell = (done: number, broken: readonly Simulated[]) => {
    for (const life of broken) console.err.write(`${textOf(life)}\n`)
    if (done < nextTold) return
    console.err.write(`${done} seeds\n`)
    nextTold += 1_000
  }
  const heard = () => console.err.write('interrupted: it ends after the seeds that are under way\n')
  signal.addEventListener('abort', heard, { once: true })
  const run = await runSeeds(asked, threads, tell, signal)
  const seeds = { first: asked.first, last: asked.first + run.seeds - 1 }
  const isWhole = seeds.last === asked.last
  if (!isWhole)
    console.err.write(
      run.seeds === 0 ? 'ended before a seed was played\n' : `ended early, after seed ${seeds.last}\n`,
    )
  const seconds = (performance.now() - begunAt) / 1_000
  const lacks = missing(run.seeds, run.counts)
  for (const line of lacks) console.err.write(`too little happened: ${line}\n`)
  const done = keptRun(seeds, run, { seconds, threads, commit })
  const runs = file === undefined ? [done] : run.seeds === 0 ? before : keep(file, before, done)
  console.out.write(evidence === true ? evidenceOf(runs) : summary(run, seconds))
  if (run.broken.length > 0 || lacks.length > 0) return exitCode.failed
  return isWhole ? exitCode.ok : exitCode.interrupted
}

function summary(run: SeedsRun, seconds: number): string {
  const { seeds, broken, counts, modes, virtualMs } = run
  const rate = (seeds / seconds).toFixed(1)
  return [
    `${seeds} seeds (${modes.liveness} to the end, ${modes.safety} under faults throughout), ${broken.length} broken, ${rate} a second`,
    `${Math.round(virtualMs / 1_000)} s of virtual time in ${Math.round(seconds)} s`,
    countsText(counts),
    '',
  ].join('\n')
}

/** `flags`: what it was played with besides. */
function textOf(
  { seed, mode, faults, violations, hash, virtualMs }: Simulated,
  flags: readonly string[] = [],
): string {
  const head = `seed ${seed} (${mode}; ${faults.join(', ')}): ${violations.length === 0 ? 'every rule held' : 'BROKEN'}, ${Math.round(virtualMs)} ms, trace ${hash.slice(0, 16)}`
  const lines = violations.map(({ rule, text, atMs }) => `  ${atMs.toFixed(1)} ms  ${rule}  ${text}`)
  const again =
    violations.length === 0 ? [] : [`  again: ${['pnpm sim', `--seed ${seed}`, ...flags].join(' ')}`]
  return [head, ...lines, ...again].join('\n')
}

function countsText(counts: Counts): string {
  return counted.map((name) => `${name} ${counts[name]}`).join(', ')
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('a whole number from 1 on')
  return number
}

function range(text: string): SeedRange {
  const [, first, last] = /^(\d+)\.\.(\d+)$/.exec(text) ?? []
  const seeds = { first: Number(first), last: Number(last) }
  if (first === undefined || seeds.first < 1 || seeds.last < seeds.first)
    throw new InvalidArgumentError('two seeds with two dots between them, such as 1..2000')
  return seeds
}
