import { defineSupervisor, defineTask, type TaskDefinition } from '@ku0/agent-runtime'
import { z } from 'zod'
import type { Group } from '../scenario/scenario.ts'
import { type SuperviseInput, supervisorType } from './plan.ts'
import { type World, witnessed } from './attend.ts'

// The plan has made it, from a scenario that was checked.
const Given = z.custom<SuperviseInput>((value) => typeof value === 'object' && value !== null)
const Agent = z.object({ crashes: z.int(), firstMs: z.number(), everyMs: z.number() })

/** The supervisors of a scenario, one type for each group, and their agents. */
export function supervisorsOf(world: World, workload: readonly Group[]): readonly TaskDefinition[] {
  const agent = agentOf(world)
  const supervisors = workload.flatMap(({ name, work }) => {
    if (work.type !== 'supervise') return []
    const { agents, strategy, maxRestarts, periodMs } = work
    const children = Array.from({ length: agents }, (_, index) => [
      `agent-${index}`,
      { task: agent, input: (given: SuperviseInput) => turnsOf(given, index) },
    ])
    return defineSupervisor({
      type: supervisorType(name),
      input: Given,
      strategy,
      maxRestarts,
      periodMs,
      children: Object.fromEntries(children) as Record<
        string,
        { task: typeof agent; input: (given: SuperviseInput) => z.infer<typeof Agent> }
      >,
    })
  })
  return supervisors.length === 0 ? [] : [...supervisors, agent]
}

/** When an agent crashes: each in turn, those of different supervisors one after the other. */
function turnsOf({ place, of, agents, crashes, everyMs }: SuperviseInput, index: number) {
  return { crashes, firstMs: (index * of + place) * everyMs, everyMs: agents * of * everyMs }
}

function agentOf(world: World) {
  return defineTask({ type: 'agent', input: Agent }, (ctx, { crashes, firstMs, everyMs }) =>
    witnessed(world, ctx, async (effect) => {
      for (let round = 0; round <= crashes; round += 1) {
        await ctx.sleep(`pause:${round}`, round === 0 ? firstMs : everyMs)
        let isNew = false
        await effect(`work:${round}`, () => {
          isNew = true
          return round
        })
        if (isNew && round < crashes) throw new Error('the agent crashed')
      }
      return crashes
    }),
  )
}
