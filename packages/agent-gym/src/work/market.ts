import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineAgent, defineMarketplace, defineTask, type TaskDefinition } from '@ku0/agent-runtime'
import { z } from 'zod'
import type { Group } from '../scenario/scenario.ts'
import { type World, witnessed } from './attend.ts'
import { marketType } from './plan.ts'
import { traders } from './traders.ts'
import { sha256 } from './tree.ts'

/** The marketplaces of a scenario, one for each group of jobs, with their agents and a judge. */
export function marketsOf(world: World, workload: readonly Group[]): readonly TaskDefinition[] {
  const groups = workload.flatMap(({ name, work }) => (work.type === 'job' ? [{ name, ...work }] : []))
  if (groups.length === 0) return []
  const all = traders(Math.max(...groups.map(({ agents }) => agents)))
  const skills = new Map(all.map(({ name, skill }) => [name, skill]))
  const agents = all.map(({ name, cost, domain, capabilities }) =>
    defineAgent(
      { name, capabilities, domain: [domain], cost, input: z.string(), output: z.string() },
      (ctx, file) =>
        witnessed(world, ctx, (effect) =>
          effect('read', async (step) => {
            step.charge({ cost: cost * 0.75 })
            return sha256(await readFile(join(world.folders.tree, file)))
          }),
        ),
    ),
  )
  const judge = defineTask(
    { type: 'judge', input: z.looseObject({ contract: z.looseObject({ agent: z.string() }) }) },
    (ctx, { contract }) => ctx.step('judge', () => ({ quality: skills.get(contract.agent) ?? 0 })),
  )
  const markets = groups.map((group) =>
    defineMarketplace({
      name: marketType(group.name),
      input: z.string(),
      output: z.string(),
      agents: agents.slice(0, group.agents),
      stages: { evaluate: judge },
    }),
  )
  return [...markets, judge, ...agents.map(({ task }) => task)] as TaskDefinition[]
}
