import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRuntime, defineTask, type Runtime } from '@ku0/agent-runtime'
import { z } from 'zod'
import { startProgram, type StartedProgram } from '../host/program.ts'
import { type LedgerEntry, readLedger } from '../work/ledger.ts'
import { type SeededRandom, seededRandom } from '../work/random.ts'
import { zombieConfig, type ZombieEnd, type ZombieTold } from './zombie.ts'

/** One process that was stopped in a step, and what became of its task. */
export interface StoppedWorker {
  readonly taskId: string
  readonly told: ZombieTold
  readonly end: ZombieEnd
  /** Why each lease ended, by its fencing token from 1. */
  readonly leases: readonly (string | undefined)[]
  readonly events: readonly string[]
  /** What readers of its output were given. */
  readonly output: readonly unknown[]
  /** Another was to run its task still when it was woken, and not to have completed it. */
  readonly meets: boolean
  /** Another had completed its task, or was running it, before it was woken. */
  readonly wasTakenOver: boolean
}

/** What came of many stops. */
export interface WorkerStops {
  readonly faults: readonly string[]
  /** Processes that were stopped in a step, and whose task another had taken over before they went on. */
  readonly stops: number
  /** Of them, those whose task another was running still. */
  readonly met: number
  /** Writes under their leases that the store refused, and attempts that the runtime refused before. */
  readonly refused: number
  /** Stops that kept everybody waiting, since they came in the middle of a commit: they count for nothing. */
  readonly inCommit: number
  /** Tasks that had lost their lease by themselves before their process was stopped. */
  readonly early: number
}

const processes = 6
/** Processes that are stopped at the same time; the others take over. */
const atOnce = 3

/**
 * Stops processes with SIGSTOP in the middle of a step, at a moment drawn from the seed, until another has completed their task, or has come to
 * the same step of it; then they go on, and try all that a holder may do. Source: `docs/reliability.md` B01, B02.
 */
export async function stopWorkers(
  stops: number,
  {
    seed,
    compileCache,
    signal,
  }: { readonly seed: number; readonly compileCache: string; readonly signal: AbortSignal },
): Promise<WorkerStops> {
  if (stops === 0) return { faults: [], stops, met: 0, refused: 0, inCommit: 0, early: 0 }
  const random = seededRandom(seed, 'stops')
  const folder = mkdtempSync(join(tmpdir(), 'gym-stops-'))
  const workers = Array.from({ length: processes }, () =>
    startProgram('@ku0/agent-gym/zombie-worker', [folder, JSON.stringify(zombieConfig)], {
      compileCache,
      signal,
    }),
  )
  try {
    await Promise.all(workers.map((worker) => worker.said('open')))
    const heard = new Heard(workers)
    const task = defineTask({ type: 'zombie', input: z.object({ meets: z.boolean() }) }, () => undefined)
    await using runtime = await createRuntime({
      strict: false,
      store: `sqlite:${folder}/runtime.db`,
      tasks: [task],
      workers: 0,
      config: zombieConfig,
      logger: false,
    })
    const seen: StoppedWorker[] = []
    let submitted = 0
    let early = 0
    const counted = () => seen.filter(({ wasTakenOver }) => wasTakenOver).length
    while (counted() < stops) {
      signal.throwIfAborted()
      const round = Array.from({ length: Math.min(atOnce, stops - counted()) }, async () => {
        submitted += 1
        const meets = submitted % 2 === 0
        const { taskId } = await runtime.submit(task, { meets })
        const stopped = await stopOne({ taskId, meets, runtime, heard, random, workers })
        if (stopped === undefined) early += 1
        else seen.push(stopped)
      })
      await Promise.all(round)
    }
    for (const worker of workers) worker.tell('end')
    await Promise.all(workers.map((worker) => worker.succeeded()))
    const { entries, malformed } = readLedger(join(folder, 'ledger.txt'))
    const byTask = Map.groupBy(entries, ({ taskId }) => taskId)
    return {
      faults: [
        ...malformed.map((line) => `the ledger has '${line}'`),
        ...seen.flatMap((it) => faultsOf(it, byTask.get(it.taskId) ?? [])),
      ],
      stops: counted(),
      met: seen.filter(({ meets, wasTakenOver }) => meets && wasTakenOver).length,
      refused: seen.reduce((sum, { told }) => sum + refusalsOf(told).length, 0),
      inCommit: seen.length - counted(),
      early,
    }
  } finally {
    for (const worker of workers) worker.signal('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What is wrong with a stop, in words: whatever the stopped process did once it went on has to be refused. */
export function faultsOf(
  { taskId, told, end, leases, events, output }: StoppedWorker,
  ledger: readonly LedgerEntry[],
): readonly string[] {
  const { token, writes, signal } = told
  const faults: string[] = []
  const tried = { step: told.step, nextStep: told.nextStep, heartbeat: told.heartbeat, output: told.output }
  for (const [what, name] of Object.entries({
    ...tried,
    checkpoint: told.checkpoint,
    command: told.command,
    signal,
  }))
    if (name !== 'LeaseLost') faults.push(`${taskId}: ${what} of a lost lease: ${name}`)
  for (const [kind, answer] of Object.entries(writes))
    if (answer !== 'stale') faults.push(`${taskId}: a stale ${kind} was answered ${answer}`)
  if (Object.keys(writes).length !== 5) faults.push(`${taskId}: it did not write once it went on`)
  if (end.held === token || end.after === token || end.by === token)
    faults.push(`${taskId}: the result is that of the stopped process: ${JSON.stringify(end)}`)
  if (end.before !== token) faults.push(`${taskId}: the step before the stop has run again`)
  if (output.includes(token) || output.includes('blind'))
    faults.push(`${taskId}: its output has what the stopped process wrote`)
  if (leases[token - 1] !== 'expired') faults.push(`${taskId}: its lease ended as ${leases[token - 1]}`)
  if (leases.filter((reason) => reason === 'completed').length !== 1 || leases.at(-1) !== 'completed')
    faults.push(`${taskId}: its leases ended as ${leases.join(', ')}`)
  const finals = events.filter((type) => ['task.completed', 'task.failed', 'task.canceled'].includes(type))
  if (finals.length !== 1 || events.at(-1) !== 'task.completed')
    faults.push(`${taskId}: it ended with ${finals.join(', ')}`)
  if (events.filter((type) => type === 'step.completed').length !== 3)
    faults.push(`${taskId}: it has other steps than its three`)
  const ran = ledger.filter(({ fencingToken }) => fencingToken === token).map(({ stepKey }) => stepKey)
  if (ran.join(' ') !== 'before held') faults.push(`${taskId}: the stopped process ran ${ran.join(', ')}`)
  return faults
}

function refusalsOf(told: ZombieTold): readonly string[] {
  const { step, nextStep, heartbeat, output, checkpoint, command, writes } = told
  const answers = [step, nextStep, heartbeat, output, checkpoint, command, ...Object.values(writes)]
  return answers.filter((answer) => answer !== 'done' && answer !== 'ok')
}

/** Undefined when the task had lost its lease by itself, so that nobody was stopped. */
async function stopOne({
  taskId,
  meets,
  runtime,
  heard,
  random,
  workers,
}: {
  readonly taskId: string
  readonly meets: boolean
  readonly runtime: Runtime
  readonly heard: Heard
  readonly random: SeededRandom
  readonly workers: readonly StartedProgram[]
}): Promise<StoppedWorker | undefined> {
  const release = () => {
    for (const worker of workers) worker.tell(`release ${taskId}`)
  }
  const ended = runtime.result(taskId)
  const takenOver = meets ? heard.line(`again ${taskId}`) : ended
  const inside = await Promise.race([heard.line(`in ${taskId}`), takenOver.then(() => undefined)])
  if (inside === undefined) {
    release()
    await ended
    return undefined
  }
  const { worker } = inside
  await sleep(random.int(0, 40))
  worker.signal('SIGSTOP')
  // One that is stopped in a commit has the lock: nobody can take over, and nothing happens until it goes on.
  const wasTakenOver = await isWithin(takenOver, 1_500)
  worker.tell(`go ${taskId}`)
  worker.signal('SIGCONT')
  const { text } = await heard.line(`told ${taskId}`)
  release()
  const end = (await ended) as ZombieEnd
  const events: string[] = []
  for await (const { type } of runtime.events(taskId)) events.push(type)
  const output: unknown[] = []
  for await (const item of runtime.output(taskId)) if (item.type === 'chunk') output.push(item.data)
  const leases = await runtime.leases(taskId)
  return {
    taskId,
    told: JSON.parse(text) as ZombieTold,
    end,
    leases: leases.toSorted((a, b) => a.fencingToken - b.fencingToken).map(({ endReason }) => endReason),
    events,
    output,
    meets,
    wasTakenOver,
  }
}

async function isWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const late = new AbortController()
  try {
    return await Promise.race([
      promise.then(() => true),
      sleep(ms, false, { signal: late.signal }).catch(() => false),
    ])
  } finally {
    late.abort()
  }
}

/** What processes say, by its first two words: what is said once is heard once, by whoever waits for it. */
class Heard {
  readonly #lines = new Map<string, PromiseWithResolvers<Said>>()

  constructor(workers: readonly StartedProgram[]) {
    for (const worker of workers) void this.#listen(worker)
  }

  line(words: string): Promise<Said> {
    return this.#at(words).promise
  }

  async #listen(worker: StartedProgram): Promise<void> {
    for (;;) {
      const line = await worker.said('').catch(() => undefined)
      if (line === undefined) return
      const [what = '', taskId = '', ...rest] = line.split(' ')
      this.#at(`${what} ${taskId}`).resolve({ worker, text: rest.join(' ') })
    }
  }

  #at(words: string): PromiseWithResolvers<Said> {
    const waiting = this.#lines.get(words) ?? Promise.withResolvers<Said>()
    this.#lines.set(words, waiting)
    return waiting
  }
}

interface Said {
  readonly worker: StartedProgram
  readonly text: string
}
