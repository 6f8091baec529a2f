import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ProfileSetting,
  type Runtime,
  type Swarm,
  type SwarmOptions,
  type TaskLease,
  TaskRejected,
} from '@ku0/agent-runtime'
import { dimensions } from '@ku0/agent-runtime-core'
import type { Call } from '../scenario/call.ts'
import { seededRandom } from '../work/random.ts'
import { type CalledNote, type Notebook, wallNow } from './notes.ts'

/** Carries out what a scenario has a process call of its runtime, and notes every answer. */
export interface Caller {
  call(call: Call, place: number): Promise<void>
}

export function createCaller(runtime: Runtime, notes: Notebook, processName: string, seed: number): Caller {
  const swarms = new Map<string, { readonly swarm: Swarm; leases: TaskLease[]; spawned: number }>()
  const note = ({ call, of }: Call, outcome: string, more: Partial<CalledNote> = {}) =>
    notes.add({ kind: 'called', call, of, outcome, at: wallNow(), ...more })
  const joined = (name: string) => {
    const found = swarms.get(name)
    if (found === undefined) throw new Error(`${processName} has not joined the swarm ${name}`)
    return found
  }
  runtime.on('evaluation.drifted', ({ data }) => {
    const { agentId, seq, change = 0 } = data
    notes.add({
      kind: 'called',
      call: 'judge',
      of: agentId,
      outcome: 'drifted',
      at: wallNow(),
      value: change,
      seq,
    })
  })

  /** Asks, works, tells. Answers with how long to wait when it was not let in. */
  async function ask(call: Extract<Call, { call: 'route' | 'probe' }>): Promise<number | undefined> {
    const options = call.profile === undefined ? {} : { profile: call.profile as ProfileSetting }
    const verdict = await runtime.route(call.of, undefined, options)
    if (!verdict.admitted) {
      note(call, 'refused', { value: verdict.totalScar })
      return verdict.retryAfterMs
    }
    const began = performance.now()
    if (call.workMs > 0) await sleep(call.workMs)
    const told = await runtime.route(call.of, { latencyMs: performance.now() - began }, options)
    note(call, verdict.probe ? 'probing' : 'admitted', { value: told.totalScar })
    return undefined
  }

  /** A heartbeat, and what became of the lease by it. */
  async function beat(
    lease: TaskLease,
    { computeUs, memoryUsed }: Usage,
  ): Promise<'reported' | 'exceeded' | 'canceled'> {
    try {
      await lease.heartbeat({
        ...(computeUs !== undefined && { computeUs }),
        ...(memoryUsed !== undefined && { memoryUsed }),
      })
      return 'reported'
    } catch (error) {
      if (!lease.signal.aborted) throw error
      return (error as { code?: unknown }).code === 'budget_exceeded' ? 'exceeded' : 'canceled'
    }
  }

  async function hold(call: Extract<Call, { call: 'lease' }>): Promise<void> {
    const { of, profile, limits, beats, beatMs, end } = call
    const held = await runtime.startTask(of, {
      abortController: new AbortController(),
      ...(profile !== undefined && { profile: profile as ProfileSetting }),
      ...(limits !== undefined && { limits }),
    })
    const { taskId } = held
    note(call, 'granted', { taskId })
    let how: string = 'reported'
    for (let i = 0; i < beats && how === 'reported'; i += 1) {
      await sleep(beatMs)
      how = await beat(held, call)
    }
    if (how === 'reported' && end === 'keep') {
      note(call, 'kept', { taskId })
      return
    }
    await held.release()
    note(call, how === 'reported' ? 'released' : how, { taskId })
  }

  async function spawn(call: Extract<Call, { call: 'spawn' }>): Promise<void> {
    const group = joined(call.of)
    for (let i = 0; i < call.times; i += 1) {
      group.spawned += 1
      try {
        const held = await group.swarm.spawnAgent(`${processName}-${group.spawned}`)
        group.leases.push(held)
        note(call, 'granted', { taskId: held.taskId })
      } catch (error) {
        if (!(error instanceof TaskRejected)) throw error
        note(call, error.reason, { taskId: error.taskId })
      }
    }
  }

  async function report(call: Extract<Call, { call: 'report' }>): Promise<void> {
    const group = joined(call.of)
    for (const held of group.leases.slice(0, call.agents)) {
      if (held.signal.aborted) continue
      note(call, await beat(held, call), { taskId: held.taskId })
    }
    // The abort of an agent that was shed is heard a moment later.
    await sleep(20)
    for (const held of group.leases.filter(({ signal }) => signal.aborted)) await held.release()
    group.leases = group.leases.filter(({ signal }) => !signal.aborted)
  }

  async function judge(
    { of, times, level, noise }: Extract<Call, { call: 'judge' }>,
    place: number,
  ): Promise<void> {
    const random = seededRandom(seed, `judge ${of} ${place} ${processName}`)
    for (let i = 0; i < times; i += 1) {
      const score = () => Math.min(1, Math.max(0, level + (random.next() * 2 - 1) * noise))
      const scores = Object.fromEntries(dimensions.map((dimension) => [dimension, score()]))
      const { reputation, seq } = await runtime.evaluations.record(of, scores)
      notes.add({
        kind: 'called',
        call: 'judge',
        of,
        outcome: 'judged',
        at: wallNow(),
        value: reputation,
        seq,
      })
    }
  }

  async function buy(
    { call, of, amount, times }: Extract<Call, { call: 'buy' }>,
    place: number,
  ): Promise<void> {
    for (let i = 0; i < times; i += 1) {
      const options = { key: `${of} ${place} ${i}` }
      const { entry, deduplicated } = await runtime.credits.purchase(of, amount, options)
      const outcome = deduplicated ? 'bought-before' : 'bought'
      notes.add({ kind: 'called', call, of, outcome, at: wallNow(), value: entry.amount, seq: entry.seq })
    }
  }

  async function awaitParked({ call, of, tasks }: Extract<Call, { call: 'await-parked' }>): Promise<void> {
    for (;;) {
      const { reasons } = await runtime.explainQueue()
      const { count = 0 } = reasons.find(({ reason }) => reason === 'credits') ?? {}
      const { running = 0 } = (await runtime.clients.get(of)) ?? {}
      if (count === tasks && running === 0) {
        notes.add({ kind: 'called', call, of, outcome: 'parked', at: wallNow(), value: count })
        return
      }
      await sleep(50)
    }
  }

  return {
    async call(call, place) {
      switch (call.call) {
        case 'route':
          for (let i = 0; i < call.times; i += 1) await ask(call)
          return
        case 'probe':
          for (let waitMs = await ask(call); waitMs !== undefined; waitMs = await ask(call))
            await sleep(waitMs + 1)
          return
        case 'lease':
          await hold(call)
          return
        case 'swarm': {
          const { call: _, of, ...options } = call
          swarms.set(of, {
            swarm: await runtime.createSwarm(of, options as SwarmOptions),
            leases: [],
            spawned: 0,
          })
          note(call, 'opened')
          return
        }
        case 'spawn':
          await spawn(call)
          return
        case 'report':
          await report(call)
          return
        case 'release': {
          const group = joined(call.of)
          for (const held of group.leases.splice(0)) await held.release()
          note(call, 'released')
          return
        }
        case 'judge':
          await judge(call, place)
          return
        case 'buy':
          await buy(call, place)
          return
        case 'await-parked':
          await awaitParked(call)
      }
    },
  }
}

interface Usage {
  readonly computeUs?: number | undefined
  readonly memoryUsed?: number | undefined
}
