import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { type VirtualRuntime } from '../virtual-runtime.ts'

export const minute = 60_000

export const hour = 60 * minute

export const report = defineTask(
  { type: 'report', input: z.object({ team: z.string() }), lane: 'interactive' },
  (ctx, { team }) => `${team}: ${ctx.schedule ?? 'nobody'} ${ctx.scheduledFor ?? 'now'}`,
)

/** Of two on one file each needs time to write: it is moved while one stops. */
export async function stopped(one: VirtualRuntime, other: VirtualRuntime): Promise<void> {
  const stop = one.runtime.stop()
  await other.elapse(minute)
  await stop
}
