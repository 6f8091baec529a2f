import type { History } from '../histories/run-history.ts'
import { runHistory } from '../histories/run-history.ts'
import { CodeCache } from '../host/code-cache.ts'
import { type CancelRaces, raceCancels } from './race-cancels.ts'
import { stopWorkers, type WorkerStops } from './stop-workers.ts'

/** How many of each. */
export interface RacesPlan {
  readonly cancels: number
  readonly stops: number
  readonly histories: number
  readonly seed: number
}

/** What came of them. */
export interface RacesRun {
  readonly cancels: CancelRaces
  readonly stops: WorkerStops
  readonly histories: readonly History[]
}

/** One kind after the other, each on a machine that does nothing else of ours. `tell` hears when a kind begins. */
export async function runRaces(
  { cancels, stops, histories, seed }: RacesPlan,
  tell: (text: string) => void,
  signal: AbortSignal,
): Promise<RacesRun> {
  using cache = CodeCache.open()
  const compileCache = cache.folder
  tell(`${cancels} cancels against the end`)
  const raced = await raceCancels(cancels, seed, signal)
  tell(`${stops} stops of a process past its lease`)
  const stopped = await stopWorkers(stops, { seed, compileCache, signal })
  tell(`${histories} histories`)
  const judged: History[] = []
  for (let history = 0; history < histories; history += 1)
    judged.push(await runHistory({ seed, history, compileCache }, signal))
  return { cancels: raced, stops: stopped, histories: judged }
}

/** All that is wrong, in words. */
export function faultsIn({ cancels, stops, histories }: RacesRun): readonly string[] {
  return [
    ...cancels.faults,
    ...stops.faults,
    ...histories.flatMap(({ faults }, i) => faults.map((fault) => `history ${i}: ${fault}`)),
  ]
}

/** Of what there was too little for the rest to mean anything, one line each. */
export function tooLittle({ cancels, stops, histories }: RacesRun): readonly string[] {
  const least = (what: string, is: number, needed: number) =>
    is < needed ? [`${what}: ${is}, at least ${needed} are needed`] : []
  const operations = sum(histories, (it) => it.operations)
  return [
    ...least('tasks that a cancel was too late for', cancels.completed, Math.floor(cancels.races / 10)),
    ...least('tasks that were canceled', cancels.canceled, Math.floor(cancels.races / 10)),
    ...least('cancels from another runtime', cancels.fromElsewhere, Math.floor(cancels.races / 4)),
    ...least('races that were close', cancels.close, Math.floor(cancels.races / 2)),
    ...least('stopped processes whose task another was running', stops.met, Math.floor(stops.stops / 4)),
    ...least('writes of stopped processes', stops.refused, 11 * stops.stops),
    ...least('operations', operations, 200 * histories.length),
    ...least(
      'operations that did what they were to',
      sum(histories, (it) => it.ok),
      Math.ceil(operations * 0.7),
    ),
    ...least(
      'leases that were taken away',
      sum(histories, (it) => it.lapsed),
      histories.length,
    ),
  ]
}

/** What was counted, by kind. */
export function figures({
  cancels,
  stops,
  histories,
}: RacesRun): Readonly<
  Record<'cancels against the end' | 'processes stopped past their leases' | 'histories', readonly Figure[]>
> {
  const total = (of: (history: History) => number) => sum(histories, of)
  return {
    'cancels against the end': [
      ['races', cancels.races],
      ['the cancel was first', cancels.canceled],
      ['the completion was first', cancels.completed],
      ['both were under way before either had won', cancels.close],
      ['cancels from another runtime than the one that ran the task', cancels.fromElsewhere],
      ['faults', cancels.faults.length],
    ],
    'processes stopped past their leases': [
      ['stopped in a step, woken when another had taken over', stops.stops],
      ['of them while the other was in the same step', stops.met],
      ['writes and calls of who was woken, refused', stops.refused],
      ['besides: stopped in the middle of a commit, so that nobody could take over', stops.inCommit],
      ['besides: a lease was lost before its process was stopped', stops.early],
      ['faults, stale writes that were taken among them', stops.faults.length],
    ],
    histories: [
      ['histories', histories.length],
      ['processes killed', total((it) => it.kills)],
      ['processes stopped past their leases', total((it) => it.stops)],
      ['tasks', total((it) => it.tasks)],
      ['operations', total((it) => it.operations)],
      ['did what they were to', total((it) => it.ok)],
      ['of unknown outcome', total((it) => it.unknown)],
      ['most operations on one task', Math.max(0, ...histories.map((it) => it.most))],
      ['leases taken away', total((it) => it.lapsed)],
      ['leases of processes that died before they heard of them', total((it) => it.unheard)],
      ['events read by followers', total((it) => it.followed)],
      ['faults', total((it) => it.faults.length)],
    ],
  }
}

/** What was counted, and how often. */
export type Figure = readonly [what: string, count: number]

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
