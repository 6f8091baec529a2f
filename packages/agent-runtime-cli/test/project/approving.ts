import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

export const titled = defineTask(
  { type: 'titled', input: z.null(), approvals: { title: z.string() } },
  async (ctx) => (await ctx.requestApproval('title', {})).value,
)

export const hears = defineTask({ type: 'hears', input: z.null(), signals: { go: z.string() } }, (ctx) =>
  ctx.waitForSignal('go'),
)
