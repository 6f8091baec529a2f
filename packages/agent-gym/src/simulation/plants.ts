import { globSync, rmSync } from 'node:fs'
import type { Settlement, Submission, Write } from '@ku0/agent-runtime-core'
import type { Message, Turn } from '@ku0/agent-runtime-persistence/testing'
import type { Audited } from './audited.ts'
import type { Ground, Plant, Planted } from './plant.ts'
import { idsOf, Tables } from './planted-tables.ts'

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
  'a child from outside that nobody starts again': () =>
    plain({
      send: (message) =>
        isWrite(message, 'startChild')
          ? [{ ...message, operation: { ...message.operation, restart: 'temporary' as const } }]
          : [message],
    }),
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
  'a request for credits that is forgotten': (ground) =>
    onTables(ground, (tables) => ({
      afterTurn() {
        if (ground.random.int(20) === 0) tables.forgetRequest()
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
  'a failure that its table is not asked about': () =>
    plain({
      send: (message) => [recovering(message, ({ as, error, delayMs }) => ({ as, error, delayMs }))],
    }),
  'a failure that nobody is asked about': () =>
    plain({
      send: (message) => [
        recovering(message, (it, recovery) =>
          recovery.strategy === 'human_escalation'
            ? { ...it, recovery: { ...recovery, strategy: 'restart' } }
            : it,
        ),
      ],
    }),
  'a failure that the next try does not hear of': () =>
    plain({ tell: (turn) => withoutMemo(turn, 'failure') }),
  'a task that runs its handler although it was handed over': () =>
    plain({ tell: (turn) => withoutMemo(turn, 'handedOver') }),
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

type Retry = Extract<Settlement, { readonly as: 'retry' }>

/** The end of a try about which a table of recovery has decided, with another decision. */
function recovering(
  message: Message,
  change: (retry: Retry, recovery: NonNullable<Retry['recovery']>) => Retry,
): Message {
  if (!isWrite(message, 'settle')) return message
  const { operation } = message
  const { settlement } = operation
  if (settlement.as !== 'retry' || settlement.recovery === undefined) return message
  return { ...message, operation: { ...operation, settlement: change(settlement, settlement.recovery) } }
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

/** A turn whose answers say nothing of it. */
function withoutMemo(turn: Turn, name: 'failure' | 'handedOver'): Turn {
  const answers = turn.answers.map((answer) =>
    'value' in answer && isMemos(answer.value)
      ? { ...answer, value: { ...answer.value, [name]: undefined } }
      : answer,
  )
  return { ...turn, answers }
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
