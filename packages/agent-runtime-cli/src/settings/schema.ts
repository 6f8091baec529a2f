import { lanes } from '@ku0/agent-runtime-core'
import { z } from 'zod'
import type { JobTarget } from '../jobs/job-target.ts'
import type { StuckLimits } from '@ku0/agent-runtime'
import type { CliConfig as Declared } from './define-config.ts'

const duration = z.number().min(0).max(31_536_000_000)
const limits = {
  queuedMs: duration.optional(),
  runningMs: duration.optional(),
  overdueMs: duration.optional(),
} satisfies Record<keyof StuckLimits, z.ZodType>

/** Checks a configuration file: `define-config.ts` says what the fields mean. */
export const CliConfig = z.strictObject({
  store: z.string().min(1).optional(),
  tasks: z.string().min(1).optional(),
  durability: z.enum(['full', 'normal']).optional(),
  config: z.record(z.string(), z.unknown()).optional(),
  worker: z
    .strictObject({
      mode: z.enum(['daemon', 'job', 'hybrid']).optional(),
      types: z.array(z.string().min(1)).min(1).optional(),
      lanes: z.array(z.enum(lanes)).min(1).optional(),
      capacity: z.int().min(1).max(1_000_000).optional(),
      maxJobs: z.int().min(1).max(1_000).optional(),
      jobs: z
        .custom<JobTarget>(isJobTarget, {
          error: 'a job target, such as kubernetesJobs({ … }) of @ku0/agent-runtime-cli/jobs',
        })
        .optional(),
    })
    .optional(),
  server: z
    .url({ protocol: /^https?$/, error: 'the URL of a server, such as http://localhost:7007' })
    .optional(),
  serve: z
    .strictObject({
      port: z.int().min(0).max(65_535).optional(),
      host: z.string().min(1).optional(),
      hosts: z.array(z.string().min(1)).optional(),
      redact: z.array(z.string().min(1)).optional(),
      // The server knows their names, and says which one it does not have.
      limits: z.record(z.string(), z.int()).optional(),
    })
    .optional(),
  watchdog: z
    .strictObject({
      ...limits,
      everyMs: limits.queuedMs,
      types: z.record(z.string(), z.strictObject(limits)).optional(),
    })
    .optional(),
} satisfies Record<keyof Declared, z.ZodType>)

function isJobTarget(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false
  const { name, start, stop, state } = given as { readonly [Key in keyof JobTarget]?: unknown }
  return typeof name === 'string' && [start, stop, state].every((it) => typeof it === 'function')
}
