import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, TaskRejected } from '../../src/index.ts'
import { turns, virtualRuntime } from '../virtual-runtime.ts'

const minute = 60_000

describe('the success criteria of rfc-0010-workload-profiles', () => {
  test('a genome sequencer runs 30 minutes and more without a scar', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [] })
    const abortController = new AbortController()
    const lease = await runtime.startTask('genom/sequence', { profile: 'EXTREME', abortController })
    for (let at = 0; at < 45 * minute; at += 10_000) {
      await lease.heartbeat({ progress: at / (45 * minute), memoryUsed: 6_000_000_000 })
      await elapse(10_000)
    }
    expect((await runtime.routes())[0]).toMatchObject({ circuit: 'closed', healthy: true, scar: 0 })
    await lease.release()
    expect(await runtime.status(lease.taskId)).toMatchObject({ state: 'completed' })
    expect(await runtime.routes()).toEqual([])
  })

  test('an API endpoint (LIGHT) is penalized above 100 ms', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [] })
    expect(await runtime.route('api/users', { latencyMs: 9 })).toMatchObject({ admitted: true, scar: 0 })
    const slow = await runtime.route('api/users', { latencyMs: 101 })
    expect(slow).toMatchObject({ profile: 'LIGHT', admitted: false, circuit: 'open', healthy: false })
    expect(slow.scar).toBeCloseTo(5, 3)
    expect(slow.resistance).toBeGreaterThan(5)
    expect(await runtime.route('api/users')).toMatchObject({ admitted: false })
    await elapse(30_000)
    expect(await runtime.route('api/users')).toMatchObject({ admitted: true, probe: true })
    expect(await runtime.route('api/users', { latencyMs: 5 })).toMatchObject({ circuit: 'closed' })
  })

  test('a swarm of 10 agents is managed', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    const swarm = await runtime.createSwarm('ai/research', {
      profile: 'HEAVY',
      maxAgents: 10,
      sharedBudget: { totalCpuTimeUs: 60_000_000, totalMemoryBytes: 32_000_000_000 },
    })
    const agents = await Promise.all(Array.from({ length: 10 }, (_, n) => swarm.spawnAgent(`agent-${n + 1}`)))
    await expect(swarm.spawnAgent('agent-11')).rejects.toThrow(TaskRejected)
    for (const agent of agents) await agent.heartbeat({ computeUs: 5_000_000, memoryUsed: 50_000_000 })
    const { agents: records, rest, pressure } = await swarm.status()
    expect(records).toHaveLength(10)
    expect(rest).toEqual({ cpuTimeUs: 10_000_000, memoryBytes: 31_500_000_000 })
    expect(pressure.mean).toBeCloseTo(pressure.max)
    for (const agent of agents) await agent.release()
    expect(await swarm.status()).toMatchObject({
      agents: [],
      rest: { cpuTimeUs: 10_000_000, memoryBytes: 32_000_000_000 },
    })
  })

  test('crashed tasks leave no scar', async () => {
    const task = defineTask({ type: 'crashes', input: z.null(), profile: 'HEAVY' }, async (ctx) => {
      await ctx.heartbeat()
      await new Promise(() => {})
    })
    const { runtime, block } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    const lease = await runtime.startTask('held')
    await turns()
    // The whole process sleeps past its leases: to the store it is as good as dead.
    await block(30_000)
    expect(await runtime.status(taskId)).toMatchObject({ crashes: 1 })
    expect(await runtime.status(lease.taskId)).toMatchObject({ state: 'failed', kind: 'lease_lost' })
    for (const route of await runtime.routes()) expect(route).toMatchObject({ scar: 0, circuit: 'closed' })
  })

  test('a failure to send heartbeats triggers a scar, a line in the log, and the circuit', async () => {
    const { runtime, elapse, log } = await virtualRuntime({ tasks: [] })
    const abortController = new AbortController()
    const lease = await runtime.startTask('ml/train', { profile: 'HEAVY', abortController })
    await elapse(30_000)
    expect((await runtime.routes())[0]).toMatchObject({ scar: 1, circuit: 'open', healthy: false })
    expect(log.map(({ message }) => message).join('\n')).toContain('requires heartbeats, and has sent none')
    expect(abortController.signal.aborted).toBe(false)
    await lease.release()
  })

  test('heartbeats that fail after the first trigger the same', async () => {
    const { runtime, elapse, log } = await virtualRuntime({ tasks: [] })
    const abortController = new AbortController()
    const lease = await runtime.startTask('ml/train', { profile: 'HEAVY', abortController })
    await lease.heartbeat({ progress: 0.1 })
    await elapse(30_000)
    expect((await runtime.routes())[0]).toMatchObject({ scar: 1, circuit: 'open', healthy: false })
    expect(log.map(({ message }) => message).join('\n')).toContain('requires heartbeats, and has sent none')
    await lease.release()
  })
})
