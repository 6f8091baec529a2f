import { type Lane, laneRank } from '@ku0/agent-runtime-core'
import { seededRandom } from '../work/random.ts'

/** A task of the script. */
export interface ScriptTask {
  readonly taskId: string
  readonly lane: Lane
}

/** What is done next, once as many tasks have been started as the acts before have brought on. */
type Act =
  | { readonly submit: readonly ScriptTask[]; readonly started: number }
  | { readonly release: readonly string[]; readonly started: number }

/** Everything that is done, and every start that it has to bring on, in order. */
export interface OrderScript {
  /** Submitted before the workers begin. */
  readonly first: readonly ScriptTask[]
  readonly startedAtFirst: number
  readonly acts: readonly Act[]
  readonly starts: readonly string[]
  /** Starts for which more than one worker had room. */
  readonly choices: number
}

/** In no order, and with capitals: workers are told apart by code unit. */
export const workers = { ids: ['b', 'C', 'a'], capacity: 4 } as const

/** A start as a line: which one, of which task, its lane and place, and the worker it went to. */
export function startLine(dispatch: number, task: ScriptTask, sequence: number, workerId: string): string {
  return `${dispatch} ${task.taskId} ${task.lane} ${sequence} ${workerId}\n`
}

/**
 * Draws what is done to so many tasks from a seed. No two slots become free at once while tasks are queued: then each start is settled by
 * what is published, lanes before places and the worker with the least in its hands, then the least name.
 * Source: `docs/semantics.md` 3.1, 3.3, 3.8.
 */
export function orderScript(count: number, seed: number): OrderScript {
  const random = seededRandom(seed, 'order')
  const lanes = Object.keys(laneRank) as Lane[]
  const tasks = Array.from({ length: count }, (_, i) => ({ taskId: `t${i + 1}`, lane: random.pick(lanes) }))
  const line = new Line()
  const first = tasks.slice(0, Math.ceil(count / 4))
  const later = tasks.slice(first.length)
  line.submit(first)
  const startedAtFirst = line.starts.length
  const acts: Act[] = []
  while (later.length > 0 || line.running.length > 0) {
    // Where nothing is queued, starts are settled by who has room.
    const submits =
      later.length > 0 && (line.running.length === 0 || random.next() < (line.isEmpty ? 0.5 : 0.1))
    if (submits) {
      const submit = later.splice(0, random.int(1, 8))
      line.submit(submit)
      acts.push({ submit, started: line.starts.length })
    } else {
      const many = line.isEmpty ? random.int(1, line.running.length) : 1
      const release = Array.from({ length: many }, () => line.release(random.pick(line.running)))
      acts.push({ release, started: line.starts.length })
    }
  }
  return { first, startedAtFirst, acts, starts: line.starts, choices: line.choices }
}

/** The queue and the workers, by the published rules and nothing else. */
class Line {
  readonly starts: string[] = []
  choices = 0
  readonly #queued: (ScriptTask & { readonly sequence: number })[] = []
  readonly #holding = new Map<string, string>()
  #sequence = 0

  /** Tasks that workers have, by name. */
  get running(): readonly string[] {
    return [...this.#holding.keys()].toSorted()
  }

  get isEmpty(): boolean {
    return this.#queued.length === 0
  }

  submit(tasks: readonly ScriptTask[]): void {
    for (const task of tasks) this.#queued.push({ ...task, sequence: ++this.#sequence })
    this.#fill()
  }

  release(taskId: string): string {
    this.#holding.delete(taskId)
    this.#fill()
    return taskId
  }

  #fill(): void {
    this.#queued.sort((a, b) => laneRank[a.lane] - laneRank[b.lane] || a.sequence - b.sequence)
    for (;;) {
      const free = workers.ids
        .map((id) => ({ id, inFlight: [...this.#holding.values()].filter((holder) => holder === id).length }))
        .filter(({ inFlight }) => inFlight < workers.capacity)
        .toSorted((a, b) => a.inFlight - b.inFlight || (a.id < b.id ? -1 : 1))
      const [worker] = free
      const task = worker && this.#queued.shift()
      if (worker === undefined || task === undefined) return
      if (free.length > 1) this.choices += 1
      this.#holding.set(task.taskId, worker.id)
      this.starts.push(startLine(this.starts.length + 1, task, task.sequence, worker.id))
    }
  }
}
