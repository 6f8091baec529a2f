import { type ErrorCode, isErrorCode, RuntimeError, wantsRoom } from '@ku0/agent-runtime-core'
import type { HandlerContext } from '../durable/context.ts'
import { roomDelay } from '../durable/wait/room.ts'
import { collected } from '../execution/collected.ts'
import type { SpawnOptions, TaskContext } from '../api/task-context.ts'
import type { TaskType } from '../api/task-type.ts'
import { TaskRejected } from '../api/errors.ts'
import type { GraphSettings } from '../api/graphs.ts'

/** A node as the engine sees it. */
export interface RunnableNode {
  readonly task: TaskType | string
  readonly after: readonly string[]
  /** Called once everything before it is done; what it throws is the node's failure. */
  readonly input: (results: ReadonlyMap<string, unknown>) => unknown
  readonly options: SpawnOptions
}

/**
 * Runs nodes as children, each as soon as what it waits for is done, and gives their outputs by name. It has no state but that of
 * its children: in a later pass the same calls get the same answers. Throws {@link GraphFailed}. Source: `docs/semantics.md 13.3`.
 */
export function runGraph(
  ctx: TaskContext,
  nodes: ReadonlyMap<string, RunnableNode>,
  settings: GraphSettings,
): Promise<Readonly<Record<string, unknown>>> {
  return new GraphRun(ctx as HandlerContext, nodes, settings).run()
}

/** A graph in which nodes failed. Its message tells the first few, its `cause` is the first one's error. */
export class GraphFailed extends RuntimeError {
  static {
    this.prototype.name = 'GraphFailed'
  }

  /** The nodes that failed, in the order in which they did, each with its error. */
  readonly failures: ReadonlyMap<string, unknown>
  /** A node that failed once fails again: retry the graph, which keeps the nodes that are done. */
  readonly retryable = false

  constructor(failures: ReadonlyMap<string, unknown>, total: number) {
    const lines = [...failures].slice(0, MAX_TOLD).map(([name, error]) => `'${name}': ${messageOf(error)}`)
    const more = failures.size > MAX_TOLD ? `; and ${failures.size - MAX_TOLD} more` : ''
    const [cause] = failures.values()
    super(codeOf(cause), `${failures.size} of ${total} nodes failed: ${lines.join('; ')}${more}`, { cause })
    this.failures = failures
  }
}

/** Nodes that may be submitted and not ended at a time, where nothing else is said. */
const DEFAULT_CONCURRENCY = 100

class GraphRun {
  readonly #ctx: HandlerContext
  readonly #nodes: ReadonlyMap<string, RunnableNode>
  readonly #concurrency: number
  readonly #stops: boolean
  readonly #done = Promise.withResolvers<Readonly<Record<string, unknown>>>()
  readonly #results = new Map<string, unknown>()
  readonly #failures = new Map<string, unknown>()
  readonly #followers = new Map<string, string[]>()
  readonly #missing = new Map<string, number>()
  /** Whose turn it is, in the order in which they became ready. */
  #ready: string[] = []
  #running = 0
  /** The store takes no more for now; how often it said so. */
  #isFull = false
  #refusals: number

  constructor(ctx: HandlerContext, nodes: ReadonlyMap<string, RunnableNode>, settings: GraphSettings) {
    this.#ctx = ctx
    this.#nodes = nodes
    this.#concurrency = settings.concurrency ?? DEFAULT_CONCURRENCY
    this.#stops = settings.onFailure !== 'finish'
    this.#refusals = ctx.waitsOver(ROOM)
    for (const [name, { after }] of nodes) {
      const before = new Set(after)
      this.#missing.set(name, before.size)
      if (before.size === 0) this.#queue(name)
      for (const other of before) {
        const followers = this.#followers.get(other)
        if (followers === undefined) this.#followers.set(other, [name])
        else followers.push(name)
      }
    }
  }

  run(): Promise<Readonly<Record<string, unknown>>> {
    this.#go()
    return this.#done.promise
  }

  #go(): void {
    while (this.#running < this.#concurrency && !this.#isFull) {
      const name = this.#ready.shift()
      if (name === undefined) break
      this.#begin(name)
    }
    if (this.#running > 0 || this.#isFull) return
    if (this.#failures.size > 0) this.#done.reject(new GraphFailed(this.#failures, this.#nodes.size))
    else
      this.#done.resolve(
        collected(Object.fromEntries([...this.#nodes.keys()].map((name) => [name, this.#results.get(name)]))),
      )
  }

  /** A node that an earlier pass has spawned takes nobody's place: it runs, or is done. */
  #queue(name: string): void {
    if (this.#ctx.hasSpawned(name)) this.#begin(name)
    else this.#ready.push(name)
  }

  #begin(name: string): void {
    this.#running += 1
    void this.#runNode(name)
  }

  async #runNode(name: string): Promise<void> {
    const { task, input, options } = this.#nodes.get(name) as RunnableNode
    try {
      const child = await this.#ctx.spawn(name, task, input(this.#results), { ...options, whenFull: 'throw' })
      this.#completed(name, await child.result())
    } catch (error) {
      if (error instanceof TaskRejected && wantsRoom(error)) this.#refused(name)
      else this.#failed(name, error)
    }
  }

  #completed(name: string, output: unknown): void {
    this.#running -= 1
    this.#results.set(name, output)
    for (const follower of this.#followers.get(name) ?? []) {
      const missing = (this.#missing.get(follower) ?? 0) - 1
      this.#missing.set(follower, missing)
      if (missing === 0) this.#queue(follower)
    }
    this.#go()
  }

  #failed(name: string, error: unknown): void {
    this.#running -= 1
    this.#failures.set(name, error)
    if (this.#stops) this.#done.reject(new GraphFailed(this.#failures, this.#nodes.size))
    else this.#go()
  }

  /** The queue is full: that is no fault of the node, and passes. */
  #refused(name: string): void {
    this.#running -= 1
    this.#ready.unshift(name)
    if (this.#isFull) return
    this.#isFull = true
    const delayMs = roomDelay(this.#refusals)
    this.#refusals += 1
    void this.#waitForRoom(delayMs)
  }

  async #waitForRoom(delayMs: number): Promise<void> {
    try {
      await this.#ctx.sleep(this.#roomKey(this.#refusals), delayMs)
      this.#isFull = false
      this.#go()
    } catch (error) {
      this.#done.reject(error)
    }
  }

  /** Nodes have keys too, and may be called anything. */
  #roomKey(nth: number): string {
    let key = `${ROOM}${nth}`
    while (this.#nodes.has(key)) key += '.'
    return key
  }
}

const ROOM = 'wait for room '

/** A message with more than that is read by nobody. */
const MAX_TOLD = 10

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function codeOf(error: unknown): ErrorCode {
  const code: unknown = error instanceof RuntimeError ? error.code : undefined
  return isErrorCode(code) ? code : 'handler_failed'
}
