import { defineSupervisor, defineTask } from '@ku0/agent-runtime'
import { createTestRuntime } from '@ku0/agent-runtime/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { draws } from '../../../../tools/draws.ts'

const GROUPS = 10
const AGENTS = 1_000
const EVERY_MS = 5
const lengthMs = draws(1_000, 2_000, 60_000)

test(
  '14.2 1 000 supervised agents, one crashing every 5 ms: each crash is one restart, no agent is lost, and no step runs twice',
  { timeout: 900_000 },
  async () => {
    const doomed = new Set<number>()
    const crashes = new Map<number, number>()
    const ran = new Map<string, number>()
    let isOver = false
    const count = <K>(map: Map<K, number>, key: K) => map.set(key, (map.get(key) ?? 0) + 1)

    const agent = defineTask({ type: 'agent', input: z.int() }, async (ctx, me) => {
      for (let round = 0; ; round += 1) {
        let isNew = false
        const isLast = await ctx.step(`work ${round}`, () => {
          count(ran, `${me}/${round}`)
          isNew = true
          return isOver
        })
        if (isLast) return me
        if (isNew && doomed.delete(me)) {
          count(crashes, me)
          throw new Error('the agent crashed')
        }
        await ctx.sleep(`pause ${round}`, 1_000)
      }
    })
    const agentsOf = (group: number) =>
      Array.from({ length: AGENTS / GROUPS }, (_, place) => group * (AGENTS / GROUPS) + place)
    const groups = Array.from({ length: GROUPS }, (_, group) =>
      defineSupervisor({
        type: `group ${group}`,
        input: z.undefined(),
        maxRestarts: 1_000,
        periodMs: 10_000,
        children: Object.fromEntries(
          agentsOf(group).map((me) => [`agent ${me}`, { task: agent, input: () => me }]),
        ),
      }),
    )
    const top = defineSupervisor({
      type: 'top',
      input: z.undefined(),
      children: Object.fromEntries(groups.map((group) => [group.type, { task: group }])),
    })

    await using it = await createTestRuntime({
      tasks: [agent, ...groups, top],
      strict: false,
      config: { maxInFlightPerWorker: 100 },
      workers: { capacity: 100 },
    })
    const receipt = await it.runtime.submit(top, undefined)
    await it.advance(1_000)
    // A linear congruence: the same agents crash in each run.
    let drawn = 1
    for (let at = 0; at < lengthMs; at += EVERY_MS) {
      drawn = (drawn * 1_664_525 + 1_013_904_223) % 2 ** 32
      doomed.add(Math.floor((drawn / 2 ** 32) * AGENTS))
      await it.advance(EVERY_MS)
    }
    isOver = true
    expect(await it.result(receipt)).toBe(null)

    const { children } = await it.runtime.supervisors.which(receipt)
    const restarts = { made: 0, crashed: [...crashes.values()].reduce((sum, each) => sum + each, 0) }
    for (const group of children) {
      const events = []
      for await (const event of it.runtime.events(group.taskId)) events.push(event)
      const restarted = events.filter((event) => event.type === 'supervisor.restarted')
      restarts.made += restarted.length
      const agents = (await it.runtime.supervisors.which(group.taskId)).children
      for (const { id, state } of agents) {
        const crashed = crashes.get(Number(id.slice('agent '.length))) ?? 0
        const seen = restarted.filter(({ data }) => data.child === id).length
        expect({ id, state, restarts: seen }).toEqual({ id, state: 'completed', restarts: crashed })
      }
      expect(agents).toHaveLength(AGENTS / GROUPS)
    }
    expect(restarts.made).toBe(restarts.crashed)
    expect(restarts.crashed).toBeGreaterThan((lengthMs / EVERY_MS) * 0.5)
    expect([...ran].filter(([, times]) => times !== 1)).toEqual([])
  },
)
