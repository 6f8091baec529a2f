import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ExecutionStore } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import { startProgram, type StartedProgram } from '../host/program.ts'
import { files, type StorePlace } from '../place/store-place.ts'
import { seededRandom } from '../work/random.ts'
import { checkHistories, type HistoriesCheck, type StoreAtEnd } from './check-histories.ts'
import { readRecord } from './recorder.ts'

/** How one history is made. */
export interface HistoryPlan {
  readonly seed: number
  /** Counted through all histories of a run, so that each draws its own. */
  readonly history: number
  readonly compileCache: string
  /** Where the store is; a file by default. */
  readonly place?: StorePlace
}

/** The outcome. */
export interface History extends HistoriesCheck {
  readonly kills: number
  readonly stops: number
}

const processes = 3
const tasks = 14
/** Of each of the three clients of a process. */
const calls = 40

/**
 * Several processes work on one store and use it, all on the same few tasks. Two are killed and one is stopped past its leases, at moments
 * drawn from the seed; who was killed is followed by another. When all is over every task's history is judged.
 */
export async function runHistory(
  { seed, history, compileCache, place = files }: HistoryPlan,
  signal: AbortSignal,
): Promise<History> {
  const random = seededRandom(seed, `history ${history}`)
  const folder = mkdtempSync(join(tmpdir(), 'gym-history-'))
  const store = place.newStore(folder)
  const names: string[] = []
  const start = (count: number): StartedProgram => {
    const name = `p${names.length + 1}`
    names.push(name)
    const args = [folder, name, String(seed * 1_000 + history), String(tasks), String(count), store]
    return startProgram('@ku0/agent-gym/history-life', args, { compileCache, signal })
  }
  /** A process that dies, is stopped for a while, or lives on. */
  const live = async (fate: 'killed' | 'stopped' | 'lives'): Promise<void> => {
    const life = start(calls)
    await life.said('open')
    if (fate !== 'lives') await Promise.race([sleep(random.int(20, 400)), life.ended])
    if (fate === 'stopped') {
      life.signal('SIGSTOP')
      await sleep(random.int(500, 900))
      life.signal('SIGCONT')
    }
    if (fate === 'killed') {
      life.signal('SIGKILL')
      await life.ended
      return live('lives')
    }
    await life.succeeded()
  }
  try {
    await Promise.all(Array.from({ length: processes }, (_, i) => live(i === 0 ? 'stopped' : 'killed')))
    await start(0).succeeded()
    const records = names.map((name) => readRecord(join(folder, `${name}.jsonl`), name))
    const check = checkHistories(
      records.flatMap((it) => it.calls),
      records.flatMap((it) => it.followed),
      await storeAtEnd(store),
    )
    return { ...check, kills: processes - 1, stops: 1 }
  } finally {
    await place.remove(store)
    rmSync(folder, { recursive: true, force: true })
  }
}

async function storeAtEnd(url: string): Promise<StoreAtEnd> {
  const store = await openStore(url, { config: parseExecutionConfig({}).config })
  try {
    const { tasks: all } = await store.read({ kind: 'tasks', filter: { limit: 1000 } })
    return { tasks: await Promise.all(all.map(({ taskId }) => taskAtEnd(store, taskId))) }
  } finally {
    await store.close()
  }
}

async function taskAtEnd(store: ExecutionStore, taskId: string): Promise<StoreAtEnd['tasks'][number]> {
  const events = (await store.read({ kind: 'events', taskId, after: 0, limit: 1000 })) ?? []
  const leases = await store.read({ kind: 'leases', taskId })
  const { idempotencyKey } = JSON.parse(events[0]?.data ?? '{}') as { idempotencyKey?: string }
  return {
    taskId,
    key: idempotencyKey,
    events: events.map(({ seq, type, hash }) => `${seq} ${type} ${hash}`),
    leases: leases.map(({ fencingToken, attempt, endReason }) => ({
      token: fencingToken,
      attempt,
      lapsed: endReason === 'expired' || endReason === 'owner_dead',
    })),
  }
}
