import { availableParallelism } from 'node:os'
import { Command } from 'commander'
import { CodeCache } from '../host/code-cache.ts'
import { figures, isProof, killsEvidence } from '../kills/evidence.ts'
import { killStore, type KilledStore } from '../kills/kill-store.ts'
import { currentCommit } from '../report/evidence.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { codeOf, type Console } from './run-command.ts'
import { number, parse } from './run-options.ts'

/** Kills of one store before it is checked. */
const perStore = 25

interface Flags {
  readonly kills?: number
  readonly submissions?: number
  readonly seed?: number
  readonly evidence?: boolean
}

/** `gym:kills`. Answers with its exit code. */
export async function killsCommand(
  args: readonly string[],
  console: Console,
  signal: AbortSignal,
): Promise<ExitCode> {
  let flags: Flags
  try {
    flags = parse(
      command(),
      args.filter((arg) => arg !== '--'),
    )
  } catch (error) {
    return codeOf(error, console)
  }
  const { kills = 100, submissions = 200, seed = 1, evidence = false } = flags
  using cache = CodeCache.open()
  try {
    // As it is now: the sources may change while it runs.
    const commit = evidence ? currentCommit() : ''
    const began = performance.now()
    const stores = Array.from({ length: Math.ceil(kills / perStore) }, (_, store) => ({
      seed,
      store,
      kills: Math.min(perStore, kills - store * perStore),
      submissions,
      compileCache: cache.folder,
    })).values()
    const killed: KilledStore[] = []
    const work = async () => {
      for (const plan of stores) {
        const store = await killStore(plan, signal)
        killed.push(store)
        for (const fault of store.faults.slice(0, 20)) console.err.write(`store ${plan.store}: ${fault}\n`)
      }
    }
    const atOnce = Math.max(2, availableParallelism())
    await Promise.all(Array.from({ length: atOnce }, work))
    const seconds = (performance.now() - began) / 1000
    console.out.write(
      evidence
        ? killsEvidence({ kills, submissions, seed }, killed, { seconds, commit, atOnce })
        : show(killed, seed, seconds),
    )
    return isProof(killed) ? exitCode.ok : exitCode.failed
  } catch (error) {
    // What fails once it is told to end fails of that.
    return codeOf(signal.aborted ? signal.reason : error, console)
  }
}

function command(): Command {
  return new Command('gym:kills')
    .description(
      'Kills processes that submit and work, at moments drawn from a seed, and compares the store with what they were told and did.',
    )
    .option('--kills <n>', 'how many (default: 100)', number('a number of kills', 1, 1_000_000, true))
    .option(
      '--submissions <n>',
      'submissions that each life begins (default: 200)',
      number('a number of submissions', 1, 100_000, true),
    )
    .option('--seed <n>', 'draws the moments (default: 1)', number('a seed', 0, 2 ** 31 - 1, true))
    .option('--evidence', 'print the result as a page for docs/evidence/')
    .addHelpText(
      'after',
      '\nExit codes: 0 nothing was lost, repeated or invented, 1 something was, or too little happened, 2 a wrong command line, 130 interrupted.',
    )
}

function show(stores: readonly KilledStore[], seed: number, seconds: number): string {
  const lines = figures(stores).map(([what, count]) => `  ${what.padEnd(38)} ${String(count).padStart(9)}`)
  return `seed ${seed}, ${stores.length} stores, ${seconds.toFixed(0)} s\n${lines.join('\n')}\n`
}
