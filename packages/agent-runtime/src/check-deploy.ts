import { existsSync } from 'node:fs'
import {
  assertOptions,
  delayRule,
  type Divergence,
  invalid,
  isRecord,
  type Rules,
  RuntimeError,
  show,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import { createRuntime } from './create-runtime.ts'
import { parseStoreUrl } from './opened-store.ts'
import type { RuntimeOptions } from './options.ts'
import type { ReplayReport } from './api/replay.ts'
import type { Runtime } from './api/runtime.ts'

/** The options of {@link checkDeploy}. */
export interface DeployCheck extends Pick<
  RuntimeOptions,
  'store' | 'token' | 'tasks' | 'config' | 'thread' | 'environment' | 'codecs' | 'payloadCodec'
> {
  /** How long each handler may wait for something of its own, in ms of real time; 5 000 by default. */
  readonly timeoutMs?: number | undefined
  /** How many tasks each list of the report names at most, 0 to 100 000; 100 by default. The counts count all. */
  readonly maxListed?: number | undefined
}

/** The result of {@link checkDeploy}. */
export interface DeployReport {
  /** Every unfinished task fits the definitions: nothing is diverged, unknown, refused, throwing, unsettled or edited. */
  readonly ok: boolean
  /** Unfinished tasks that were looked at. */
  readonly checked: number
  readonly agreed: number
  readonly counts: {
    readonly diverged: number
    readonly unknownTypes: number
    readonly invalidInputs: number
    readonly threw: number
    readonly unsettled: number
    readonly edited: number
  }
  readonly diverged: readonly {
    readonly taskId: string
    readonly type: string
    readonly divergence: Divergence
  }[]
  /** Tasks of types that are not defined here, by type. */
  readonly unknownTypes: Readonly<Record<string, number>>
  /** Tasks whose stored input does not fit the schema any more. */
  readonly invalidInputs: readonly DeployProblem[]
  /** Tasks whose handler throws where it had not. */
  readonly threw: readonly DeployProblem[]
  /** Tasks whose handler waited for something of its own for longer than `timeoutMs`: nothing is known of them. */
  readonly unsettled: readonly { readonly taskId: string; readonly type: string }[]
  /** Tasks whose history in the database is not the one that was written: they were not replayed. */
  readonly edited: readonly DeployProblem[]
}

export interface DeployProblem {
  readonly taskId: string
  readonly type: string
  readonly message: string
}

/**
 * Checks new code against a store before it is deployed: every unfinished task is replayed with its recorded history, with
 * the given definitions, as `runtime.replay` does. The store may be a server that takes remote workers, with a `token` of the scopes `work` and `read`. No worker is started and nothing is written about what is found; the store is opened as by any process, which
 * also ends leases that have expired. The processes that run the tasks may run on. Throws `not_found` for a store that does not exist,
 * which is not made, `store_schema` for one of an older version, which is not migrated, `invalid_argument` for one in memory, and else as `createRuntime` does. Source: `docs/semantics.md 6.4`, `docs/changing-code.md`.
 */
export async function checkDeploy(check: DeployCheck): Promise<DeployReport> {
  if (!isRecord(check)) throw invalid(`checkDeploy: an object such as { store, tasks }; given ${show(check)}`)
  assertOptions('checkDeploy', check, checkRules)
  const { timeoutMs, maxListed = 100, ...options } = check
  if (typeof options.store === 'string') assertThere(options.store)
  const runtime = await createRuntime({
    ...options,
    settings: 'own',
    existing: true,
    workers: 0,
    telemetry: false,
    logger: false,
  })
  try {
    const tally = new Tally(maxListed)
    for await (const batch of unfinished(runtime))
      for (const report of await Promise.all(batch.map((taskId) => replayed(runtime, taskId, timeoutMs))))
        if (report !== undefined) tally.count(report)
    return tally.report()
  } finally {
    await runtime.stop({ drain: false })
  }
}

/** A store that opening would make has no tasks: whatever it is checked for, all would be well. */
function assertThere(url: string): void {
  const path = pathOf(url)
  if (path === undefined) return
  if (path === ':memory:')
    throw invalid(
      'checkDeploy option store: a new in-memory store is empty, so there is nothing to check; give the file that holds the tasks, or an open store',
    )
  if (existsSync(path)) return
  throw new RuntimeError(
    'not_found',
    `checkDeploy option store: there is no store at ${path}; correct the path, or create the store by starting a runtime on it`,
    { details: { path } },
  )
}

/** Undefined for what is no URL: `createRuntime` says what is wrong with it, and with the other options. */
function pathOf(url: string): string | undefined {
  try {
    return parseStoreUrl(url)
  } catch {
    return undefined
  }
}

/** A task that ended and was pruned meanwhile is nobody's concern any more. */
async function replayed(
  runtime: Runtime,
  taskId: string,
  timeoutMs: number | undefined,
): Promise<ReplayReport | undefined> {
  try {
    return await runtime.replay(taskId, { mode: 'verify', ...(timeoutMs === undefined ? {} : { timeoutMs }) })
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'not_found') return undefined
    throw error
  }
}

/** The ids of all unfinished tasks, in small batches: so many histories are held at a time. */
async function* unfinished(runtime: Runtime): AsyncIterable<readonly string[]> {
  let cursor: number | undefined
  do {
    const page = await runtime.list({
      states: ['queued', 'running', 'waiting'],
      limit: BATCH,
      ...(cursor === undefined ? {} : { cursor }),
    })
    yield page.tasks.map(({ taskId }) => taskId)
    ;({ cursor } = page)
  } while (cursor !== undefined)
}

const BATCH = 16

class Tally {
  readonly #maxListed: number
  #checked = 0
  #agreed = 0
  readonly #counts = { diverged: 0, unknownTypes: 0, invalidInputs: 0, threw: 0, unsettled: 0, edited: 0 }
  readonly #diverged: { taskId: string; type: string; divergence: Divergence }[] = []
  readonly #unknownTypes = new Map<string, number>()
  readonly #invalidInputs: DeployProblem[] = []
  readonly #threw: DeployProblem[] = []
  readonly #unsettled: { taskId: string; type: string }[] = []
  readonly #edited: DeployProblem[] = []

  constructor(maxListed: number) {
    this.#maxListed = maxListed
  }

  count({ taskId, type, verdict, diverged, error }: ReplayReport): void {
    this.#checked += 1
    const problem = { taskId, type, message: error?.message ?? '' }
    switch (verdict) {
      case 'agreed':
        this.#agreed += 1
        return
      case 'diverged':
        this.#counts.diverged += 1
        if (diverged !== undefined) this.#list(this.#diverged, { taskId, type, divergence: diverged })
        return
      case 'unknown_type':
        this.#counts.unknownTypes += 1
        if (this.#unknownTypes.has(type) || this.#unknownTypes.size < this.#maxListed)
          this.#unknownTypes.set(type, (this.#unknownTypes.get(type) ?? 0) + 1)
        return
      case 'invalid_input':
        this.#counts.invalidInputs += 1
        return this.#list(this.#invalidInputs, problem)
      case 'threw':
        this.#counts.threw += 1
        return this.#list(this.#threw, problem)
      case 'unsettled':
        this.#counts.unsettled += 1
        return this.#list(this.#unsettled, { taskId, type })
      case 'edited':
        this.#counts.edited += 1
        return this.#list(this.#edited, problem)
    }
  }

  report(): DeployReport {
    return {
      ok: this.#agreed === this.#checked,
      checked: this.#checked,
      agreed: this.#agreed,
      counts: this.#counts,
      diverged: this.#diverged,
      unknownTypes: Object.fromEntries(this.#unknownTypes),
      invalidInputs: this.#invalidInputs,
      threw: this.#threw,
      unsettled: this.#unsettled,
      edited: this.#edited,
    }
  }

  #list<T>(list: T[], item: T): void {
    if (list.length < this.#maxListed) list.push(item)
  }
}

/** What the runtime itself is opened with it checks itself. */
const elsewhere = ['given', () => true] as const
const checkRules: Rules<DeployCheck> = {
  store: elsewhere,
  token: elsewhere,
  tasks: elsewhere,
  config: elsewhere,
  thread: elsewhere,
  environment: elsewhere,
  codecs: elsewhere,
  payloadCodec: elsewhere,
  timeoutMs: delayRule,
  maxListed: wholeNumber(0, 100_000),
}
