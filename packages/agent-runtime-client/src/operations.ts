import type {
  AccessScope,
  AccessTokenRecord,
  BudgetLimits,
  BudgetRecord,
  ClientRecord,
  ClientTier,
  CreditBalance,
  ExecutionLease,
  Lane,
  LedgerEntry,
  OutOfCredits,
  OversightMode,
  QuotaState,
  Series,
  SeriesFilter,
  StoreStats,
  SupervisorRecord,
  SupervisorSummary,
  TaskState,
  WaitHistogram,
  WorkerStatus,
} from '@ku0/agent-runtime-core'
import { type Agents, agentsOn } from './agents.ts'
import { type Care, careOn } from './care.ts'
import { type Bulk, bulkOn, type Many, manyOn } from './bulk.ts'
import { type Pipelines, pipelinesOn } from './pipelines.ts'
import { type Watched, watchAll, type WatchOptions } from './watch.ts'
import type { Receipt, TaskStatus } from './records.ts'
import { taskIdOf, type TaskLike } from './task-id.ts'
import { unlessUnknown } from './unless-unknown.ts'
import { valueToJson } from './value-to-json.ts'
import type { Transport } from './transport.ts'

/** A request that nobody has answered yet. */
export interface PendingApproval {
  readonly approvalId: string
  readonly taskId: string
  readonly type: string
  readonly key: string
  readonly mode: string
  readonly artifact: unknown
  readonly requestedAt: number
  readonly dueAt?: number
  readonly rejections: number
}

/** The verdict of a reviewer. */
export interface Verdict {
  readonly by?: string | undefined
  readonly feedback?: string | undefined
  readonly value?: unknown
}

/** Requests that wait for a human, and the verdicts on them. */
export interface Approvals {
  list(filter?: {
    readonly task?: TaskLike | undefined
    readonly children?: boolean | undefined
    readonly limit?: number | undefined
    readonly cursor?: string | undefined
  }): Promise<{ readonly approvals: readonly PendingApproval[]; readonly cursor?: string }>
  approve(approvalId: string, verdict?: Verdict): Promise<VerdictReceipt>
  reject(approvalId: string, verdict?: Verdict): Promise<VerdictReceipt>
  /** Every request that a task ever made, and how it ended, oldest first. */
  trail(task: TaskLike): Promise<readonly ApprovalEntry[]>
}

/** One request in a task's audit trail. */
export interface ApprovalEntry {
  readonly approvalId: string
  readonly key: string
  readonly outcome: string
  readonly requestedAt: number
  readonly resolvedAt?: number
  readonly by?: string
  readonly feedback?: string
  readonly [more: string]: unknown
}

/** The effect of a verdict. */
export interface VerdictReceipt {
  readonly approvalId: string
  readonly taskId: string
  readonly state: TaskState
}

/** The amounts that tasks may use up, and the answers to budgets that ask. */
export interface Budgets {
  get(task: TaskLike): Promise<BudgetRecord | undefined>
  list(page?: {
    readonly limit?: number | undefined
    readonly cursor?: string | undefined
  }): Promise<{ readonly budgets: readonly BudgetRecord[]; readonly cursor?: string }>
  continue(task: TaskLike, options?: { readonly raise?: BudgetLimits | undefined }): Promise<BudgetReceipt>
  stop(task: TaskLike): Promise<BudgetReceipt>
}

/** The effect of an answer to a budget. */
export interface BudgetReceipt {
  readonly taskId: string
  readonly resumed: number
}

/** A schedule as it stands. */
export interface ScheduleStatus {
  readonly name: string
  readonly task: string
  readonly input: unknown
  readonly paused: boolean
  readonly nextAt?: number
  readonly lastAt?: number
  readonly lastTaskId?: string
  readonly runs: number
  readonly [more: string]: unknown
}

/** Supervisors that run, and their children. A task that is no supervisor, or a child that it does not have, is `not_found`. */
export interface Supervisors {
  /** A page of the supervisors, newest first. `supervising`: only those that supervise now. */
  list(page?: {
    readonly limit?: number | undefined
    readonly cursor?: string | undefined
    readonly supervising?: boolean | undefined
  }): Promise<{ readonly supervisors: readonly SupervisorSummary[]; readonly cursor?: string }>
  /** The children of a supervisor, in the order in which they were started first. */
  which(supervisor: TaskLike): Promise<SupervisorRecord>
  /** `total`: all that `which` lists; `open`: those that have not ended; `running`: those that a worker runs now. */
  count(
    supervisor: TaskLike,
  ): Promise<{ readonly total: number; readonly open: number; readonly running: number }>
  /** Starts one more child. */
  start(
    supervisor: TaskLike,
    id: string,
    task: string,
    input: unknown,
    options?: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly taskId: string }>
  /** Cancels a child; its supervisor does not start it again. */
  stop(
    supervisor: TaskLike,
    id: string,
  ): Promise<{ readonly stopped: boolean; readonly taskId: string; readonly state: TaskState }>
  /** Starts a child that has ended once more, as a new task without recorded steps. */
  restart(supervisor: TaskLike, id: string): Promise<{ readonly taskId: string }>
}

/** Tasks that are submitted on a schedule. */
export interface Schedules {
  list(): Promise<readonly ScheduleStatus[]>
  get(name: string): Promise<ScheduleStatus | undefined>
  /** The next times of a schedule, epoch ms: five, or `count`. Throws `not_found`. */
  upcoming(name: string, count?: number): Promise<readonly number[]>
  put(
    name: string,
    timing: { readonly cron: string; readonly timeZone?: string | undefined } | { readonly everyMs: number },
    task: string,
    input: unknown,
    options?: Readonly<Record<string, unknown>>,
  ): Promise<ScheduleStatus>
  pause(name: string): Promise<ScheduleStatus>
  resume(name: string): Promise<ScheduleStatus>
  /** Submits one run now. A key that was used before runs nothing: the first receipt is returned with `deduplicated`. */
  trigger(name: string, options?: { readonly idempotencyKey?: string | undefined }): Promise<Receipt>
  remove(name: string): Promise<boolean>
}

/** On whose account tasks run. */
export interface Clients {
  list(page?: {
    readonly after?: string | undefined
    readonly limit?: number | undefined
  }): Promise<readonly ClientRecord[]>
  set(
    name: string,
    settings: { readonly credits?: number | undefined; readonly tier?: ClientTier | undefined },
  ): Promise<ClientRecord>
  remove(name: string): Promise<boolean>
}

/** The terms of an agreement with a client. */
export interface AgreementRecord {
  readonly kind: 'agreement'
  readonly name: string
  readonly client: string
  readonly agents?: readonly string[]
  readonly tier?: ClientTier
  readonly lane?: Lane
  readonly timeoutMs?: number
  readonly deadlineMs?: number
  readonly latencyMs?: number
  readonly oversight?: OversightMode
  readonly outOfCredits?: OutOfCredits
}

/** The agreements that submissions and schedules can name. */
export interface Agreements {
  /** All that the caller may use, by name. */
  list(): Promise<readonly AgreementRecord[]>
  /** Undefined if the caller may use no agreement of this name. */
  get(name: string): Promise<AgreementRecord | undefined>
}

/** An access token, without its hash: times are epoch ms. */
export type TokenRecord = Omit<AccessTokenRecord, 'hash'>

/** The rights of an access token. */
export interface TokenTerms {
  readonly scopes: readonly AccessScope[]
  readonly client?: string | undefined
  readonly types?: readonly string[] | undefined
  /** From this moment on it is refused, epoch ms or a Date. */
  readonly expiresAt?: number | Date | undefined
}

/** The access tokens of the store; they need the scope `admin`. */
export interface AccessTokens {
  /** Makes a token. It is in this answer only; the store keeps its hash. */
  create(name: string, terms: TokenTerms): Promise<TokenRecord & { readonly token: string }>
  /** Keeps the hash of a token that you have drawn. */
  put(name: string, terms: TokenTerms & { readonly hash: string }): Promise<TokenRecord>
  /** All of them by name, revoked and expired ones among them. */
  list(): Promise<readonly TokenRecord[]>
  /** Undefined if there is no such token, or if it was revoked before. */
  revoke(name: string): Promise<TokenRecord | undefined>
}

/** The credits of clients, entry by entry. */
export interface Credits {
  /** Adds credits to a client's; with a key once. */
  purchase(
    client: string,
    amount: number,
    options?: { readonly key?: string | undefined; readonly note?: string | undefined },
  ): Promise<{ readonly entry: LedgerEntry; readonly deduplicated: boolean }>
  /** Undefined for an unknown client. */
  balance(client: string): Promise<CreditBalance | undefined>
  /** The entries of a client's ledger, the oldest first. */
  entries(
    client: string,
    page?: { readonly after?: number | undefined; readonly limit?: number | undefined },
  ): Promise<readonly LedgerEntry[]>
}

/** The number of deleted tasks, by their final state, and of entries of ledgers that were folded. */
export interface Pruned {
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  readonly folded: number
  /** True if nothing was deleted or folded, only counted. */
  readonly dryRun: boolean
}

/** Which store is served, and what the caller may do. */
export interface ServerInfo {
  readonly kind: string
  readonly storeId: string
  readonly durability: string
  readonly schemaVersion: number
  /** The version of the HTTP API. */
  readonly apiVersion: string
  /** The versions of Node and of the database, as the server has them. */
  readonly versions: Readonly<Record<string, string>>
  /** The server's clock, epoch ms. */
  readonly at: number
  /** Whether it refuses whatever would change something. */
  readonly readOnly: boolean
  /** Whether it takes remote workers. */
  readonly remoteWorkers: boolean
  /** Whether tasks can be replayed there. */
  readonly replays: boolean
  readonly scopes: readonly string[]
  /** The token of the caller; absent where the server asks for none. */
  readonly token?: {
    readonly name: string
    readonly client?: string
    readonly types?: readonly string[]
    readonly expiresAt?: number
  }
}

/** The calls about more than one task. */
export interface Operations extends Agents, Care, Many, Pipelines {
  /** Many tasks at once, step by step: with a count to show first, and progress. */
  readonly bulk: Bulk
  /** Which store is served, and what an acknowledgement means. */
  serverInfo(): Promise<ServerInfo>
  /** The events of all tasks from now on, across broken connections, until the signal is aborted. */
  watch(options?: WatchOptions): AsyncIterable<Watched>
  readonly approvals: Approvals
  readonly budgets: Budgets
  readonly schedules: Schedules
  readonly supervisors: Supervisors
  readonly clients: Clients
  readonly agreements: Agreements
  readonly credits: Credits
  readonly accessTokens: AccessTokens
  /** The quotas for which something was counted. */
  quotas(): Promise<readonly QuotaState[]>
  /** The registered workers, of every process on the store. */
  workers(): Promise<readonly WorkerStatus[]>
  /** Gives a worker no more tasks; those that it runs go on. Returns the number of registered workers of that id. */
  drainWorker(workerId: string): Promise<number>
  /** Gives a drained worker tasks again. Returns the number of registered workers of that id. */
  undrainWorker(workerId: string): Promise<number>
  /** Starts no more tasks of these types and lanes; those that run go on. Returns how many of them were not paused before. */
  pauseQueue(what: { readonly types?: readonly string[]; readonly lanes?: readonly Lane[] }): Promise<number>
  /** Starts tasks of these types and lanes again. Returns how many of them were paused. */
  resumeQueue(what: { readonly types?: readonly string[]; readonly lanes?: readonly Lane[] }): Promise<number>
  /**
   * Deletes the tasks that the rules in force on the store no longer keep, and folds old entries of ledgers; with `dryRun` it only counts. It needs the
   * scope `admin`. Without rules it is `invalid_argument`.
   */
  prune(options: { readonly dryRun: boolean }): Promise<Pruned>
  /** A page of the live leases. */
  liveLeases(page?: Page): Promise<{ readonly leases: readonly ExecutionLease[]; readonly cursor?: string }>
  /** How many tasks are in each state, and what the store holds. */
  stats(): Promise<StoreStats>
  /** Why tasks wait. */
  explainQueue(): Promise<WaitHistogram>
  /** How many tasks started, ended and ran in the past, step by step. */
  series(filter?: SeriesFilter): Promise<Series>
  /** A page of the failed tasks, newest first. */
  deadLetters(
    page?: Page & {
      readonly kind?: string | undefined
      readonly type?: string | undefined
      /** Whether they come with their inputs, which may be large. True by default. */
      readonly values?: boolean | undefined
    },
  ): Promise<{ readonly tasks: readonly TaskStatus[]; readonly cursor?: string }>
}

interface Page {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** The calls about more than one task, on a transport. */
export function operationsOn(transport: Transport): Operations {
  const get = async <T>(path: string, query: Parameters<Transport['json']>[0]['query'] = {}): Promise<T> =>
    (await transport.json({ path, query })) as T
  const agreements = async () =>
    (await get<{ agreements: readonly AgreementRecord[] }>('/agreements')).agreements
  const send = async <T>(
    method: 'POST' | 'PUT',
    path: string,
    body?: unknown,
    { repeatable = false } = {},
  ): Promise<T> =>
    (await transport.json({ method, path, repeatable, ...(body === undefined ? {} : { body }) })) as T
  const remove = async (path: string): Promise<boolean> =>
    (await unlessUnknown<true>(transport.send({ method: 'DELETE', path }).then(() => true))) ?? false
  const putToken = <T>(name: string, { expiresAt, ...terms }: TokenTerms): Promise<T> =>
    send('POST', '/tokens', {
      name,
      ...terms,
      ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
    })
  const named = (kind: string, name: string, act = '') => `/${kind}/${encodeURIComponent(name)}${act}`
  const drain = async (workerId: string, act: string) =>
    (await unlessUnknown<{ workers: number }>(send('POST', named('workers', workerId, act))))?.workers ?? 0
  const ofTask = (task: TaskLike, rest: string) => named('tasks', taskIdOf(task), rest)
  const which = (task: TaskLike) => get<SupervisorRecord>(ofTask(task, '/supervised'))
  const childPath = (id: string, act: string) => `/supervised/${encodeURIComponent(id)}/${act}`
  return {
    ...agentsOn(transport),
    ...pipelinesOn(transport),
    ...manyOn(transport),
    ...careOn(transport),
    bulk: bulkOn(transport),
    serverInfo: () => get('/info'),
    watch: (options = {}) => watchAll(transport, options),
    approvals: {
      list: ({ task, ...page } = {}) =>
        get('/approvals', { ...page, ...(task === undefined ? {} : { task: taskIdOf(task) }) }),
      approve: async (id, verdict = {}) =>
        send('POST', named('approvals', id, '/approve'), verdictOf(verdict)),
      reject: async (id, verdict = {}) => send('POST', named('approvals', id, '/reject'), verdictOf(verdict)),
      trail: async (task) =>
        (await get<{ trail: readonly ApprovalEntry[] }>(ofTask(task, '/approvals'))).trail,
    },
    budgets: {
      get: (task) => unlessUnknown<BudgetRecord>(get(ofTask(task, '/budget'))),
      list: (page = {}) => get('/budgets', page),
      continue: (task, options = {}) => send('POST', ofTask(task, '/budget/continue'), options),
      stop: (task) => send('POST', ofTask(task, '/budget/stop')),
    },
    schedules: {
      list: async () => (await get<{ schedules: readonly ScheduleStatus[] }>('/schedules')).schedules,
      get: (name) => unlessUnknown<ScheduleStatus>(get(named('schedules', name))),
      upcoming: async (name, count) => {
        const { times } = await get<{ times: readonly string[] }>(named('schedules', name, '/upcoming'), {
          count,
        })
        return times.map((time) => Date.parse(time))
      },
      put: async (name, timing, task, input, options) =>
        send('PUT', named('schedules', name), {
          timing,
          task,
          input: valueToJson(input, 'the input'),
          options,
        }),
      pause: (name) => send('POST', named('schedules', name, '/pause')),
      resume: (name) => send('POST', named('schedules', name, '/resume')),
      trigger: (name, options = {}) =>
        send('POST', named('schedules', name, '/trigger'), options, {
          repeatable: options.idempotencyKey !== undefined,
        }),
      remove: (name) => remove(named('schedules', name)),
    },
    supervisors: {
      list: (page = {}) => get('/supervisors', page),
      which,
      async count(supervisor) {
        const { children } = await which(supervisor)
        const open = children.filter(({ state }) => !isFinal(state))
        const running = open.filter(({ state }) => state === 'running')
        return { total: children.length, open: open.length, running: running.length }
      },
      start: async (supervisor, id, task, input, options) =>
        send('POST', ofTask(supervisor, '/supervised'), {
          id,
          task,
          input: valueToJson(input, 'the input'),
          options,
        }),
      stop: (supervisor, id) => send('POST', ofTask(supervisor, childPath(id, 'stop'))),
      restart: (supervisor, id) => send('POST', ofTask(supervisor, childPath(id, 'restart'))),
    },
    clients: {
      list: async (page = {}) => (await get<{ clients: readonly ClientRecord[] }>('/clients', page)).clients,
      set: (name, settings) => send('PUT', named('clients', name), settings),
      remove: (name) => remove(named('clients', name)),
    },
    agreements: {
      list: agreements,
      get: async (name) => (await agreements()).find((it) => it.name === name),
    },
    credits: {
      purchase: (client, amount, options = {}) =>
        send(
          'POST',
          named('clients', client, '/credits'),
          { amount, ...options },
          { repeatable: options.key !== undefined },
        ),
      balance: (client) => unlessUnknown<CreditBalance>(get(named('clients', client, '/credits'))),
      entries: async (client, page = {}) =>
        (await get<{ entries: readonly LedgerEntry[] }>(named('clients', client, '/ledger'), page)).entries,
    },
    accessTokens: {
      create: putToken,
      put: putToken,
      list: async () => (await get<{ tokens: readonly TokenRecord[] }>('/tokens')).tokens,
      revoke: (name) =>
        unlessUnknown<TokenRecord>(transport.json({ method: 'DELETE', path: named('tokens', name) })),
    },
    quotas: async () => (await get<{ quotas: readonly QuotaState[] }>('/quotas')).quotas,
    workers: async () => (await get<{ workers: readonly WorkerStatus[] }>('/workers')).workers,
    drainWorker: (workerId) => drain(workerId, '/drain'),
    undrainWorker: (workerId) => drain(workerId, '/undrain'),
    pauseQueue: async (what) => (await send<{ changed: number }>('POST', '/queue/pause', what)).changed,
    resumeQueue: async (what) => (await send<{ changed: number }>('POST', '/queue/resume', what)).changed,
    prune: ({ dryRun }) => send('POST', '/prune', { dryRun }),
    liveLeases: (page = {}) => get('/leases', { ...page }),
    stats: () => get('/stats'),
    explainQueue: async () => {
      const { queued, waiting, reasons } = await get<WaitHistogram>('/queue')
      return { queued, waiting, reasons }
    },
    series: (filter = {}) => get('/series', { ...filter }),
    deadLetters: (page = {}) => get('/dead-letters', { ...page }),
  }
}

function verdictOf({ value, ...rest }: Verdict): Verdict {
  return value === undefined ? rest : { ...rest, value: valueToJson(value, 'the value') }
}

function isFinal(state: TaskState): boolean {
  return state !== 'queued' && state !== 'running' && state !== 'waiting'
}
