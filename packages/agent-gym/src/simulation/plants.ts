import { globSync, rmSync } from 'node:fs'
import {
  CHAIN_START,
  chainText,
  createIdCodec,
  type ExecutionConfig,
  type ExecutionConfigInput,
  type IdCodec,
  type Submission,
  type Timers,
  type Write,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import type { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { type Answer, chainDigest, type Message, type Turn } from '@ku0/agent-runtime-persistence/testing'
import Database from 'better-sqlite3'
import type { Audited } from './audited.ts'

/** A bug that is planted into a simulated life from outside: on the line, in the tables, in the timers, or in what an engine is opened with. */
export interface Plant {
  /** What an engine goes by instead of the configuration that it should. */
  config?(given: ExecutionConfigInput): ExecutionConfigInput
  /** What becomes of a message: what arrives, and what is answered instead. */
  send?(message: Message, process: Audited): readonly (Message | Answer)[]
  beforeTurn?(process: Audited): void
  afterTurn?(process: Audited, turn: Turn): void
  /** What of a turn, or of what was read, reaches its process. */
  tell?(turn: Turn): Turn
  /** The ids of the workers of the n-th process, from 1. */
  workerIds?(count: number, process: number): readonly string[]
  /** What a runtime arms its timers with instead of what it should. */
  timers?(given: Timers): Timers
}

/** What a planted bug works on. */
export interface Ground {
  readonly path: string
  readonly random: SeededRandom
  /** Processes at once. */
  readonly processes: number
  /** Ms since the beginning. */
  readonly now: () => number
  readonly config: ExecutionConfig
}

/** A planted bug and what lets go of its connection. */
export type Planted = Plant & Disposable

/**
 * The bugs that the simulation has to find, each within 300 seeds. They are planted around the product, whose code knows nothing of them: a
 * fence that is not looked at, for instance, is a line that writes the live lease into what a zombie says. Source:
 * `docs/simulation.md`.
 */
export const plants: Readonly<Record<string, (ground: Ground) => Planted>> = {
  'a settlement without its fence': (ground) => withoutFence(ground, ['settle']),
  'the first memo of a zombie': (ground) => withoutFence(ground, ['recordStep']),
  'other writes without their fence': (ground) =>
    withoutFence(ground, [
      'suspend',
      'spawn',
      'startStep',
      'failStep',
      'checkpoint',
      'appendOutput',
      'release',
    ]),
  'a heartbeat without its fence': (ground) => {
    const held = new Map<Audited, Map<string, number>>()
    return onTables(ground, (tables) => ({
      afterTurn(process, { claims }) {
        const own = held.get(process) ?? new Map<string, number>()
        held.set(process, own)
        for (const { leaseId } of claims) own.set(leaseId, ground.now())
        for (const [leaseId, at] of own) {
          if (ground.now() - at > 6 * ground.config.leaseTtlMs) own.delete(leaseId)
          const live = tables.liveLeaseBehind(leaseId)
          if (live !== undefined) tables.renew(live)
        }
      },
    }))
  },
  'a lease that is renewed after its end': (ground) =>
    onTables(ground, (tables) => ({ beforeTurn: ({ processId }) => tables.revive(processId) })),
  'a sweep that does not look again': (ground) => {
    const seen: { lease: number; task: number; at: number }[] = []
    return onTables(ground, (tables) => ({
      beforeTurn() {
        for (const it of tables.lapsed()) seen.push({ ...it, at: ground.now() })
      },
      afterTurn() {
        while (seen[0] !== undefined && ground.now() - seen[0].at > 80) {
          const it = seen.shift()
          if (it !== undefined) tables.requeueBlindly(it.task, it.lease)
        }
      },
    }))
  },
  'a memo that is overwritten': (ground) =>
    onTables(ground, (tables) => ({
      send(message) {
        if (isWrite(message, 'recordStep')) tables.overwriteMemo(message.operation)
        return [message]
      },
    })),
  'a memo that is not told of': ({ random }) =>
    plain({
      tell: (turn) => ({
        ...turn,
        answers: turn.answers.map((answer) =>
          'value' in answer && isMemos(answer.value) && random.int(3) === 0
            ? { ...answer, value: { ...answer.value, steps: [] } }
            : answer,
        ),
      }),
    }),
  'a memo of a task that nobody holds': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(50) === 0) tables.recordForNobody()
      },
    })),
  'a lease that ends without its task': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(50) === 0) tables.endLease()
      },
    })),
  'the same workers after a crash': ({ processes }) =>
    plain({
      workerIds: (count, process) =>
        Array.from({ length: count }, (_, index) => `worker ${((process - 1) % processes) + 1}/${index + 1}`),
    }),
  'a cancel that is lost': ({ random }) =>
    plain({
      send: (message) =>
        isWrite(message, 'cancel') && random.int(3) === 0
          ? [{ call: message.call, value: { canceled: true, state: 'canceled' } }]
          : [message],
    }),
  'a submission that is lost': ({ random, path }) => {
    const ids = idsOf(path)
    return plain({
      send: (message) =>
        isWrite(message, 'submit') && random.int(5) === 0
          ? [
              {
                call: message.call,
                value: message.operation.tasks.map((_, index) => ({
                  accepted: true,
                  taskId: ids.task(1_000_000 + index),
                  sequence: 1_000_000 + index,
                  deduplicated: false,
                })),
              },
            ]
          : [message],
    })
  },
  'an idempotency key that is ignored': () =>
    plain({
      send(message) {
        if (!isWrite(message, 'submit')) return [message]
        const tasks = message.operation.tasks.map(withoutKey)
        return [{ ...message, operation: { ...message.operation, tasks } }]
      },
    }),
  'a timer before its time': (ground) =>
    onTables(ground, (tables) => ({ beforeTurn: () => tables.hurryTimers() })),
  'a timer that fires twice': (ground) =>
    onTables(ground, (tables) => ({
      beforeTurn: () => tables.rememberTimers(),
      afterTurn: () => tables.bringBackTimers(),
    })),
  'a gap in the events': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(200) === 0) tables.skipEvent()
      },
    })),
  'an attempt without an event': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(200) === 0) tables.countAttempt()
      },
    })),
  'a task that is resumed twice': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(20) === 0) tables.resumeAgain()
      },
    })),
  'a token that is used again': (ground) =>
    onTables(ground, (tables) => ({
      beforeTurn: () => tables.takeBackTokens(),
      afterTurn: () => tables.restoreTokens(),
    })),
  'a queue that is counted wrong': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(100) === 0) tables.miscountQueue()
      },
    })),
  'a capacity that is ignored': () =>
    plain({
      send(message) {
        if (message.to === 'demand') return [{ ...message, credit: message.credit + 4 }]
        if (!isWrite(message, 'registerWorkers')) return [message]
        const workers = message.operation.workers.map((it) => ({ ...it, capacity: it.capacity + 4 }))
        return [{ ...message, operation: { ...message.operation, workers } }]
      },
      config: (given) => ({ ...given, maxInFlightPerWorker: 100 }),
    }),
  'a quota that leaks': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(100) === 0) tables.leakQuota()
      },
    })),
  'a quota off by one': () =>
    plain({
      config: ({ quotaConfig, ...given }) =>
        quotaConfig === undefined
          ? given
          : {
              ...given,
              quotaConfig: { models: { big: { ...quotaConfig.models?.['big'], maxInFlight: 3 } } },
            },
    }),
  'a budget that forgets': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(100) === 0) tables.forgetTokens()
      },
    })),
  'a client that pays twice': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(100) === 0) tables.payAgain()
      },
    })),
  'a schedule that runs again': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(100) === 0) tables.rewindSchedules()
      },
    })),
  'backpressure off by one': () =>
    plain({
      config: ({ queueDepthLimit = 0, batchBackpressureThreshold = 0, ...given }) => ({
        ...given,
        queueDepthLimit: queueDepthLimit + 1,
        batchBackpressureThreshold: batchBackpressureThreshold + 1,
      }),
    }),
  'lanes that are not strict': () => plain({ config: (given) => ({ ...given, agingMs: 30 }) }),
  'a worker that is passed over': (ground) =>
    onTables(ground, (tables) => ({
      beforeTurn(process) {
        if (ground.random.int(4) === 0) tables.hideWorker(ground.random.pick(process.workerIds))
      },
      afterTurn: () => tables.showWorker(),
    })),
  'poison that is never found': () => plain({ config: (given) => ({ ...given, maxCrashes: 100 }) }),
  'the living taken for dead': ({ path }) =>
    plain({
      config: (given) => ({ ...given, presenceTtlMs: 600 }),
      beforeTurn() {
        for (const file of globSync(`${path}-owners/*.lock`)) rmSync(file)
      },
    }),
  'a claim that nobody hears of': ({ random }) =>
    plain({ tell: (turn) => (random.int(8) === 0 ? { ...turn, claims: [] } : turn) }),
  'a timer that outlives its cancel': () =>
    plain({
      timers: (given) => ({
        after(delayMs, run) {
          let isCanceled = false
          given.after(delayMs, () => {
            if (!isCanceled) run()
          })
          return {
            cancel() {
              isCanceled = true
            },
          }
        },
      }),
    }),
  'children that outlive their parents': () =>
    plain({
      send: (message) =>
        isWrite(message, 'spawn')
          ? [{ ...message, operation: { ...message.operation, policy: 'abandon' } }]
          : [message],
    }),
  "a caller's task that goes back to the queue": (ground) =>
    onTables(ground, (tables) => ({
      beforeTurn() {
        for (const { task, lease } of tables.lapsed('of callers')) tables.requeueBlindly(task, lease)
      },
    })),
  'a swarm with an agent too many': () =>
    plain({
      send(message) {
        if (!isWrite(message, 'putSwarm')) return [message]
        const { operation } = message
        const terms = { ...operation.terms, maxAgents: operation.terms.maxAgents + 1 }
        return [{ ...message, operation: { ...operation, terms } }]
      },
    }),
  'use that is halved': () =>
    plain({
      send(message) {
        if (!isWrite(message, 'report')) return [message]
        const { operation } = message
        const sample = { ...operation.sample, computeUs: (operation.sample.computeUs ?? 0) / 2 }
        return [{ ...message, operation: { ...operation, sample } }]
      },
    }),
  'a circuit that closes early': () => plain({ config: (given) => ({ ...given, circuitOpenMs: 50 }) }),
  'a fork with what came later': () =>
    plain({
      send(message) {
        if (!isWrite(message, 'fork')) return [message]
        const operation: { -readonly [K in keyof typeof message.operation]: (typeof message.operation)[K] } =
          {
            ...message.operation,
          }
        delete operation.fromStep
        return [{ ...message, operation }]
      },
    }),
  'a restart too many': () =>
    plain({
      send: (message) => [supervising(message, (key) => key.replace('/2/1000/', '/3/1000/'))],
    }),
  'restarts that count for too short': () =>
    plain({
      send: (message) => [supervising(message, (key) => key.replace('/2/1000/', '/2/30/'))],
    }),
  'a team whose others go on': () =>
    plain({
      send: (message) => [
        supervising(message, (key) => key.replace(/one_for_all|rest_for_one/, 'one_for_one')),
      ],
    }),
  'a restart that its supervisor forgets': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(3) === 0) tables.forgetRestarts()
      },
    })),
  'an event that is lost on its way to the log': ({ random }) =>
    plain({
      send(message) {
        if (!isWrite(message, 'publish') || random.int(4) > 0) return [message]
        const { operation } = message
        return [{ ...message, operation: { ...operation, events: operation.events.slice(1) } }]
      },
    }),
  'an event that is published twice': ({ random }) =>
    plain({
      send(message) {
        if (!isWrite(message, 'publish') || random.int(4) > 0) return [message]
        const { operation } = message
        const again = { ...operation, key: `${operation.key}/again` }
        return [message, { ...message, call: -1e6 - random.int(1e6), operation: again }]
      },
    }),
  'an event that its stage never gets': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(10) === 0) tables.skipUnread()
      },
    })),
  'an event that another partition gets': ({ random }) =>
    plain({
      send(message) {
        if (!isWrite(message, 'publish') || random.int(4) > 0) return [message]
        const { operation } = message
        const [first, ...others] = operation.keyHashes ?? []
        if (first === undefined) return [message]
        const keyHashes = [((first ?? 0) + 1) % 1_024, ...others]
        return [{ ...message, operation: { ...operation, keyHashes } }]
      },
    }),
  'an event that two partitions get': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(3) === 0) tables.giveToBoth()
      },
    })),
  'a permanent child that stays completed': () =>
    plain({
      send(message) {
        if (!isWrite(message, 'spawn')) return [message]
        const { operation } = message
        const key = operation.key.replace('$ku0/supervised/permanent/', '$ku0/supervised/transient/')
        return [{ ...message, operation: { ...operation, key } }]
      },
    }),
  'a purchase that is made twice': ({ random }) =>
    plain({
      send(message) {
        if (!isWrite(message, 'purchaseCredits') || random.int(3) > 0) return [message]
        const again = { ...message.operation, key: `${message.operation.key}, again` }
        return [{ ...message, operation: again }]
      },
    }),
  'credits that fade': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(100) === 0) tables.fadeCredits()
      },
    })),
  'a reservation that is not given back': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(20) === 0) tables.forgetSettlement()
      },
    })),
  'an opening entry that says too much': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        tables.raiseOpening()
      },
    })),
  'a start without credits': () =>
    plain({
      config: (given) =>
        given.shares?.ledger === true
          ? { ...given, shares: { ...given.shares, outOfCredits: 'run' as const } }
          : given,
    }),
  'an agreement that is not kept': ({ random }) =>
    plain({
      send(message) {
        if (!isWrite(message, 'submit') || random.int(3) > 0) return [message]
        const { operation } = message
        const tasks = operation.tasks.map((task) => {
          const { outOfCredits: _, oversight: __, ...rest } = task
          return rest
        })
        return [{ ...message, operation: { ...operation, tasks } }]
      },
    }),
  'a judgement that is lost': ({ random }) =>
    plain({
      send: (message) =>
        isWrite(message, 'evaluate') && random.int(3) === 0
          ? [{ ...message, operation: { ...message.operation, key: `other ${random.bits()}` } }]
          : [message],
    }),
}

type WriteMessage<K extends Write['kind']> = {
  readonly to: 'write'
  readonly call: number
  readonly operation: Extract<Write, { kind: K }>
}

function isWrite<K extends Write['kind']>(message: Message, kind: K): message is WriteMessage<K> {
  return message.to === 'write' && message.operation.kind === kind
}

/** A wait of a supervisor under another key, which is its terms. */
function supervising(message: Message, change: (key: string) => string): Message {
  if (!isWrite(message, 'suspend')) return message
  const { operation } = message
  const waits = operation.waits.map((wait) =>
    wait.key.startsWith('$ku0/supervisor/') ? { ...wait, key: change(wait.key) } : wait,
  )
  return { ...message, operation: { ...operation, waits } }
}

function isMemos(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'steps' in value && 'waits' in value
}

function plain(plant: Plant): Planted {
  return { ...plant, [Symbol.dispose]() {} }
}

function onTables(ground: Ground, make: (tables: Tables) => Plant): Planted {
  const tables = new Tables(ground)
  return { ...make(tables), [Symbol.dispose]: () => tables.close() }
}

function withoutKey(submission: Submission): Submission {
  const task: { -readonly [K in keyof Submission]: Submission[K] } = { ...submission }
  delete task.idempotencyKey
  return task
}

/** What a zombie writes is taken for the write of whoever holds its task now. */
function withoutFence(ground: Ground, kinds: readonly Write['kind'][]): Planted {
  return onTables(ground, (tables) => ({
    send(message) {
      if (message.to !== 'write' || !kinds.includes(message.operation.kind)) return [message]
      if (!('leaseId' in message.operation)) return [message]
      const live = tables.liveLeaseBehind(message.operation.leaseId)
      if (live === undefined) return [message]
      const operation = { ...message.operation, leaseId: tables.ids.lease(live) } as Write
      return [{ ...message, operation }]
    },
  }))
}

function idsOf(path: string): IdCodec {
  const db = new Database(path, { readonly: true })
  const storeId = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'store_id'").pluck().get()
  db.close()
  return createIdCodec(storeId ?? '')
}

/** What a query of a planted bug asks for; each asks for columns that it knows. */
interface Row {
  readonly value: string
  readonly task: number
  readonly key: string
  readonly lease: number | null
  readonly attempt: number
  readonly state: number
  readonly seq: number
  readonly tail: Buffer
}

/** A connection that changes the tables behind the back of the stores, as a bug in one of them would. */
class Tables {
  readonly ids: IdCodec
  readonly #db: Database.Database
  readonly #ground: Ground
  #timers = new Map<string, { task: number; key: string; position: number; due_at: number }>()
  #lowered: { task: number; fence: number }[] = []
  #hidden: { id: number; types: string } | undefined

  constructor(ground: Ground) {
    this.#ground = ground
    this.#db = new Database(ground.path, { timeout: 0 })
    this.#db.pragma('synchronous = 0')
    this.ids = idsOf(ground.path)
  }

  close(): void {
    this.#db.close()
  }

  get #leaseNow(): number {
    const offset = this.#get("SELECT value FROM meta WHERE key = 'boot_offset'")
    return Math.floor(this.#ground.now() + Number(offset?.value))
  }

  /** The live lease of the task that an ended one was for. */
  liveLeaseBehind(leaseId: string): number | undefined {
    const row = this.#get(
      'SELECT task.lease, lease.id AS own FROM lease JOIN task ON task.id = lease.task WHERE lease.id = ? AND lease.state <> 0',
      this.ids.leaseNumber(leaseId) ?? 0,
    )
    return row?.lease ?? undefined
  }

  renew(lease: number): void {
    this.#run(
      'UPDATE lease SET expires_at = ? WHERE id = ?',
      this.#leaseNow + this.#ground.config.leaseTtlMs,
      lease,
    )
  }

  revive(processId: string): void {
    const now = this.#leaseNow
    const lapsed = this.#get(
      'SELECT 1 FROM lease JOIN process ON process.id = lease.process WHERE state = 0 AND expires_at <= ? AND process_id = ?',
      now,
      processId,
    )
    if (lapsed === undefined) return
    this.#run(
      'UPDATE lease SET expires_at = ? WHERE state = 0 AND expires_at <= ? AND process = (SELECT id FROM process WHERE process_id = ?)',
      now + this.#ground.config.leaseTtlMs,
      now,
      processId,
    )
  }

  lapsed(which?: 'of callers'): { lease: number; task: number }[] {
    const those = which === undefined ? '' : ' AND worker = 0'
    return this.#db
      .prepare<[number], { lease: number; task: number }>(
        `SELECT id AS lease, task FROM lease WHERE state = 0 AND expires_at <= ?${those}`,
      )
      .all(this.#leaseNow)
  }

  /** As it was decided, whatever has become of the task since. */
  requeueBlindly(task: number, lease: number): void {
    const row = this.#get('SELECT attempt, state FROM task WHERE id = ?', task)
    if (row === undefined || row.state === 0) return
    this.#append(task, 'task.requeued', {
      attempt: row.attempt + 1,
      leaseId: this.ids.lease(lease),
      reason: 'expired',
    })
    this.#run(
      'UPDATE task SET state = 0, lease = NULL, finished_at = NULL, wait_reason = NULL, due_at = NULL, attempt = attempt + 1, crashes = crashes + 1 WHERE id = ?',
      task,
    )
    this.#run('UPDATE stream SET depth = depth + 1 WHERE id = (SELECT stream FROM task WHERE id = ?)', task)
  }

  /** As a store would that keeps the last result: with the chain of all that comes after it. */
  overwriteMemo({ leaseId, key, result }: Extract<Write, { kind: 'recordStep' }>): void {
    const memo = this.#get(
      `SELECT task, seq FROM event WHERE type = 'step.completed' AND blob IS NULL AND json_extract(data, '$.key') = ?
        AND json_extract(data, '$.result') <> json_extract(?, '$') AND task = (SELECT task FROM lease WHERE id = ?)`,
      key,
      result,
      this.ids.leaseNumber(leaseId) ?? 0,
    )
    if (memo === undefined) return
    const overwrite = this.#db.transaction(() => {
      this.#db
        .prepare("UPDATE event SET data = json_set(data, '$.result', json(?)) WHERE task = ? AND seq = ?")
        .run(result, memo.task, memo.seq)
      this.#chainAnew(memo.task)
    })
    this.#unlessBusy(() => overwrite.immediate())
  }

  /** As by a store that records a step and does not look who asks. */
  recordForNobody(): void {
    const queued = this.#get('SELECT id AS task FROM task WHERE state = 0 ORDER BY id DESC LIMIT 1 + 0')
    const data = { key: 'of nobody', position: 1_000, durationMs: 0, result: null }
    if (queued !== undefined) this.#append(queued.task, 'step.completed', data)
  }

  /** Its task runs on under it. */
  endLease(): void {
    this.#run(
      "UPDATE lease SET state = 2, ended_at = ?, end_reason = 'expired', end_seq = 0 WHERE id = (SELECT max(id) FROM lease WHERE state = 0)",
      Math.floor(Date.UTC(2026, 0, 1) + this.#ground.now()),
    )
  }

  #chainAnew(task: number): void {
    let hash: Uint8Array = CHAIN_START
    const events = this.#db.prepare<[number], { seq: number; type: string; at: number; data: string }>(
      'SELECT seq, type, at, data FROM event WHERE task = ? ORDER BY seq',
    )
    for (const { seq, type, at, data } of events.all(task)) {
      hash = chainDigest(hash, chainText(task, seq, type, at, data))
      this.#db.prepare('UPDATE event SET hash = ? WHERE task = ? AND seq = ?').run(hash, task, seq)
    }
    this.#db.prepare('UPDATE task SET tail = ? WHERE id = ?').run(hash, task)
  }

  hurryTimers(): void {
    const one = this.#get(
      "SELECT task, key FROM wait WHERE kind = 0 AND key NOT LIKE '$%' AND due_at > ? LIMIT 1 + 0",
      Date.UTC(2026, 0, 1) + this.#ground.now() + 60,
    )
    if (one === undefined) return
    this.#run('UPDATE wait SET due_at = due_at - 60 WHERE task = ? AND key = ?', one.task, one.key)
    this.#run(
      'UPDATE task SET due_at = due_at - 60 WHERE id = ? AND state = 2 AND due_at IS NOT NULL',
      one.task,
    )
  }

  rememberTimers(): void {
    const rows = this.#db
      .prepare<[], { task: number; key: string; position: number; due_at: number }>(
        "SELECT task, key, position, due_at FROM wait WHERE kind = 0 AND key NOT LIKE '$%'",
      )
      .all()
    this.#timers = new Map(rows.map((row) => [`${row.task} ${row.key}`, row]))
  }

  bringBackTimers(): void {
    for (const { task, key, position, due_at } of this.#timers.values()) {
      const gone = this.#get(
        'SELECT 1 FROM task WHERE id = ? AND state < 2 AND NOT EXISTS (SELECT 1 FROM wait WHERE task = task.id AND key = ?)',
        task,
        key,
      )
      if (gone === undefined) continue
      this.#run('INSERT INTO wait VALUES (?, ?, ?, 0, NULL, ?, NULL)', task, key, position, due_at)
      this.#run('UPDATE task SET waits = waits + 1 WHERE id = ?', task)
    }
  }

  skipEvent(): void {
    this.#run('UPDATE task SET seq = seq + 1 WHERE id = (SELECT max(id) FROM task WHERE state < 2)')
  }

  countAttempt(): void {
    this.#run('UPDATE task SET attempt = attempt + 1 WHERE id = (SELECT max(id) FROM task WHERE state < 2)')
  }

  /** As by a store that does not look whether a task still waits. */
  resumeAgain(): void {
    const last = this.#get(
      "SELECT task, data AS value FROM event JOIN task ON task.id = event.task AND task.seq = event.seq WHERE type = 'task.resumed' AND state = 0 LIMIT 1 + 0",
    )
    if (last !== undefined) this.#append(last.task, 'task.resumed', JSON.parse(last.value) as object)
  }

  /** What starts next has the token that its task had before. */
  takeBackTokens(): void {
    const rows = this.#db
      .prepare<[], { task: number; fence: number }>(
        'SELECT id AS task, fence FROM task WHERE state = 0 AND fence > 0',
      )
      .all()
    if (rows.length === 0) return
    this.#lowered = rows
    this.#run('UPDATE task SET fence = fence - 1 WHERE state = 0 AND fence > 0')
  }

  /** Those that did not start have theirs again. */
  restoreTokens(): void {
    for (const { task, fence } of this.#lowered.splice(0))
      this.#run('UPDATE task SET fence = ? WHERE id = ? AND fence = ? AND state <> 1', fence, task, fence - 1)
  }

  /** As one that runs nothing it is given nothing. */
  hideWorker(name: string): void {
    const worker = this.#get(
      'SELECT id AS task, types AS value FROM worker WHERE worker_id = ? AND registered = 1',
      name,
    )
    if (worker === undefined) return
    this.#hidden = { id: worker.task, types: worker.value }
    this.#run("UPDATE worker SET types = '[]' WHERE id = ?", worker.task)
  }

  showWorker(): void {
    if (this.#hidden === undefined) return
    this.#run('UPDATE worker SET types = ? WHERE id = ?', this.#hidden.types, this.#hidden.id)
    this.#hidden = undefined
  }

  miscountQueue(): void {
    this.#run('UPDATE stream SET depth = depth + 1')
  }

  leakQuota(): void {
    this.#run('UPDATE quota SET running = running + 1')
  }

  forgetTokens(): void {
    this.#run("UPDATE budget SET used = json_set(used, '$.tokens', 0)")
  }

  payAgain(): void {
    this.#run('UPDATE client SET spent = spent * 2')
  }

  forgetRestarts(): void {
    this.#run("DELETE FROM signal WHERE name = '$ku0/restart'")
  }

  /** The last stage of a pipeline takes its next event for received. */
  skipUnread(): void {
    const taken = "coalesce(json_extract(log, '$.parts[2].taken.m'), 0)"
    this.#run(
      `UPDATE pipeline SET log = json_set(log, '$.parts[2].taken.m', ${taken} + 1) WHERE ${taken} < json_extract(log, '$.published.m')`,
    )
  }

  /** What the first partition has to receive the second has to receive as well. */
  giveToBoth(): void {
    const unread = "json_extract(log, '$.parts[1].unread.n')"
    this.#run(
      `UPDATE pipeline SET log = json_set(log, '$.parts[2].unread.n', json(${unread}))
        WHERE json_extract(log, '$.parts[2].partition') = 2 AND ${unread} IS NOT NULL AND json_extract(log, '$.parts[2].unread.n') IS NULL`,
    )
  }

  fadeCredits(): void {
    this.#run('UPDATE client SET credits = credits - 1000000 WHERE id = (SELECT max(id) FROM client)')
  }

  /** The last settlement of a client leaves something reserved. */
  forgetSettlement(): void {
    this.#run(
      'UPDATE ledger SET held = held + 250000, reserved = reserved + 250000 WHERE kind = 3 AND seq = (SELECT max(seq) FROM ledger AS other WHERE other.client = ledger.client)',
    )
  }

  /** What was folded comes to more than it was, once, and so does all that came after it. */
  raiseOpening(): void {
    const folded = '(SELECT client FROM ledger WHERE kind = 0 AND seq > 1)'
    if (this.#get("SELECT 1 FROM ledger WHERE note = 'raised'") !== undefined) return
    this.#run(`UPDATE client SET credits = credits + 250000 WHERE name IN ${folded}`)
    this.#run(
      `UPDATE ledger SET credits = credits + 250000, amount = amount + CASE kind WHEN 0 THEN 250000 ELSE 0 END,
         note = CASE kind WHEN 0 THEN 'raised' ELSE note END
        WHERE client IN ${folded}`,
    )
  }

  rewindSchedules(): void {
    this.#run("DELETE FROM idempotency WHERE key LIKE 'schedule:%'")
    this.#run('UPDATE schedule SET next_at = last_due_at WHERE last_due_at IS NOT NULL AND paused = 0')
  }

  /** An event that is in the task's chain as it should be. */
  #append(task: number, type: string, data: object): void {
    const row = this.#get('SELECT seq, tail FROM task WHERE id = ?', task)
    const seq = (row?.seq ?? 0) + 1
    const at = Math.floor(Date.UTC(2026, 0, 1) + this.#ground.now())
    const text = JSON.stringify(data)
    const hash = chainDigest(row?.tail ?? CHAIN_START, chainText(task, seq, type, at, text))
    this.#run('INSERT INTO event VALUES (?, ?, ?, ?, ?, NULL, ?)', task, seq, type, at, text, hash)
    this.#run('UPDATE task SET seq = ?, tail = ? WHERE id = ?', seq, hash, task)
  }

  #get(sql: string, ...values: unknown[]): Row | undefined {
    return this.#db.prepare<unknown[], Row>(sql).get(...values)
  }

  #run(sql: string, ...values: unknown[]): void {
    this.#unlessBusy(() => this.#db.prepare(sql).run(...values))
  }

  /** Where another has the lock the bug does not show this time. */
  #unlessBusy(act: () => void): void {
    try {
      act()
    } catch (error) {
      if (!String((error as { code?: string }).code).startsWith('SQLITE_BUSY')) throw error
    }
  }
}

/** The configuration that an engine with this bug goes by. */
export function configOf(given: ExecutionConfigInput, plant: Plant | undefined): ExecutionConfig {
  return parseExecutionConfig(plant?.config?.(given) ?? given).config
}
