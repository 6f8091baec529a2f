// The task: its own work before and after what an agent elsewhere does.
import { defineTask } from '@ku0/agent-runtime'
import { type Gateway, runAgent } from '@ku0/agent-runtime/gateway'
import { z } from 'zod'

export function reportTask(gateway: Gateway) {
  return defineTask({ type: 'report', input: z.string() }, async (ctx, topic) => {
    const prompt = await ctx.step('prepare', () => topic.trim().toLowerCase())
    const { output } = await runAgent(ctx, gateway, { prompt, workspaceDir: '/work', maxIterations: 5 })
    return ctx.step('file', () => (output as readonly string[]).join(', '))
  })
}
