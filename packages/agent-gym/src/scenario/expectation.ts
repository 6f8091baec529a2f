import { failureKinds, leaseEndReasons, rejectionReasons, waitReasons } from '@ku0/agent-runtime-core'
import { Lane } from '@ku0/agent-runtime-core/schemas'
import { z } from 'zod'
import { didYouMean } from '../cli/suggest.ts'
import { callOutcomes } from './call.ts'
import { measureNames } from '../measure/measure-names.ts'

const reasons = new Set<string>([
  ...rejectionReasons,
  'idempotency_conflict',
  'already_exists',
  ...failureKinds,
  ...leaseEndReasons,
  ...waitReasons,
  ...callOutcomes,
])

/** A name out of a list, with the likely one in the complaint. */
function oneOf(what: string, names: readonly string[]) {
  return z.string().refine((name) => names.includes(name), {
    error: ({ input }) => `no ${what} is named ${JSON.stringify(input)}${didYouMean(String(input), names)}`,
  })
}

/** Which of a scenario's data a measure looks at; all of it where nothing is said. */
const about = {
  measure: oneOf('measure', measureNames),
  lane: Lane.optional(),
  /** The name of a group of the workload. */
  group: z.string().optional(),
  /** The name of a process. */
  process: z.string().optional(),
  /** A queue depth, for `admission`. */
  depth: z.int().min(0).optional(),
  /** Of a rejection, for `rejected`; a kind of failure, for `failed`; of a return to the queue, for `requeues`; what is waited for, for `waits`; an answer, for `calls`. */
  reason: oneOf('reason', [...reasons]).optional(),
  model: z.string().optional(),
  /** A route, swarm or agent that calls were about, and which call. */
  of: z.string().optional(),
  call: z.string().optional(),
  /** The name of a client. */
  client: z.string().optional(),
}

/** Told where the scenario is read, and not when all of it has run. */
const isAnswerable = (asked: { measure: string; lane?: unknown; depth?: unknown }) =>
  asked.measure !== 'admission' || (asked.lane !== undefined && asked.depth !== undefined)
const unanswerable = { message: 'admission needs a lane and a depth', path: ['measure'] }

/** A measured value, and what a reader calls it. */
export const Figure = z
  .strictObject({ ...about, label: z.string().min(1).max(40) })
  .refine(isAnswerable, unanswerable)
export type Figure = z.infer<typeof Figure>

const bounds = ['equals', 'atMost', 'atLeast', 'below', 'above'] as const

/** What must hold of a measured value: exactly one bound, and where it matters how many samples it must rest on. */
export const Expectation = z
  .strictObject({
    ...about,
    equals: z.union([z.number(), z.string(), z.boolean()]).optional(),
    atMost: z.number().optional(),
    atLeast: z.number().optional(),
    below: z.number().optional(),
    above: z.number().optional(),
    /**
     * With `atLeast` of a rate or `below` of a time: what plain SQLite has to do beside the run, in tasks a second, for the bound to hold in
     * full. A run in a slower moment of the machine is held to the same share of the rate, or given as much more time.
     */
    atSqliteRate: z.number().positive().optional(),
    /** The fewest samples it must rest on. Fewer fail, whatever they say. */
    samples: z.int().min(1).optional(),
  })
  .refine((expectation) => bounds.filter((bound) => expectation[bound] !== undefined).length === 1, {
    message: `an expectation has exactly one of ${bounds.join(', ')}`,
  })
  .refine(isAnswerable, unanswerable)
export type Expectation = z.infer<typeof Expectation>
