import { z } from 'zod'
import { createAgentRegistry, defineAgent, defineTask } from '../../src/index.ts'

const schemas = { input: z.string(), output: z.string() }

/** Three agents that can read; what each really costs is not what it asks for. */
const quick = defineAgent(
  { name: 'quick', capabilities: ['read'], domain: ['legal'], cost: 2, ...schemas },
  async (ctx, text) =>
    ctx.step('skim', (step) => {
      step.charge({ cost: 1.5 })
      return `skimmed ${text}`
    }),
)
const thorough = defineAgent(
  { name: 'thorough', capabilities: ['read', 'score'], domain: ['legal'], cost: 9, ...schemas },
  async (ctx, text) => ctx.step('score', () => `scored ${text}`),
)
const clumsy = defineAgent(
  { name: 'clumsy', capabilities: ['read', 'break'], domain: ['repair'], cost: 1, ...schemas },
  async (ctx) =>
    ctx.step('break', () => {
      throw new Error('it broke')
    }),
)
export const agents = createAgentRegistry([quick, thorough, clumsy])

/** Says that all work is good. */
export const judge = defineTask({ type: 'judge', input: z.unknown() }, async (ctx) =>
  ctx.step('judge', () => ({ quality: 0.9, adherence: 0.8 })),
)
