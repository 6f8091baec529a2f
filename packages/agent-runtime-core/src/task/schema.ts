import { z } from 'zod'
import { BudgetRecord } from '../budget/schema.ts'
import { Divergence } from '../history/divergence-schema.ts'
import { rejectionReasons } from '../event/event.ts'
import { waitReasons } from '../wait/wait.ts'
import { failureKinds } from './failure-kind.ts'
import { Lane } from './lane-schema.ts'
import { ExecutionLease } from '../lease/schema.ts'
import { ProfileTerms } from '../profile/schema.ts'
import { OpenWait } from '../wait/schema.ts'

const base = {
  taskId: z.string(),
  /** The order of submission in this store, from 1; it never changes, whatever happens to the task. */
  sequence: z.int().min(1),
  type: z.string(),
  lane: Lane,
  /** The n-th try, from 1; rises on expiry and retry only. */
  attempt: z.int().min(1),
  /** Leases that ended because their holder died or fell silent. */
  crashes: z.int().min(0),
  /** Steps whose result is recorded. */
  steps: z.int().min(0),
  submittedAt: z.number(),
  client: z.string().optional(),
  /** Its estimated cost. */
  cost: z.number().optional(),
  /** Its usage so far, as its handler has charged it. Source: `docs/semantics.md 11.5`. */
  used: z.strictObject({ tokens: z.number(), money: z.number(), cost: z.number() }).optional(),
  /** The budget that it draws on first: its own, or one above it. Source: `docs/semantics.md 11.5`. */
  budget: BudgetRecord.optional(),
  /** The one that it has now: that of its submission, or the one that it has fallen back to. */
  model: z.string().optional(),
  /** The schedule that submitted it, and the time, epoch ms, that it is the run for. Source: `docs/schedules.md`. */
  schedule: z.string().optional(),
  scheduledFor: z.number().optional(),
  tools: z.array(z.string()),
  labels: z.record(z.string(), z.string()),
  /** The task that spawned it. */
  parent: z.string().optional(),
  /** Its caller runs it, under a lease of its own. Source: `docs/semantics.md 10.1`. */
  held: z.literal(true).optional(),
  /** The profile of its leases, if the submission names one. */
  profile: ProfileTerms.optional(),
  /** The swarm that it is an agent of, and its name there. */
  swarm: z.string().optional(),
  agent: z.string().optional(),
  /** The input in the codec's form. */
  input: z.string().optional(),
}

const finished = { startedAt: z.number().optional(), finishedAt: z.number() }

/**
 * A task as it stands, by state: a failed one has an error, a queued one has none. Values (`input`, `output`, `error`) are in
 * the codec's form. Times are epoch ms by the store's clock. Source: `docs/semantics.md 1.1`.
 */
export const TaskRecord = z.discriminatedUnion('state', [
  z.strictObject({ ...base, state: z.literal('queued'), dueAt: z.number().optional() }),
  z.strictObject({
    ...base,
    state: z.literal('running'),
    startedAt: z.number(),
    lease: ExecutionLease,
    /** The pass has made a checkpoint and ended no step or wait since. Source: `docs/semantics.md 12.0`. */
    checkpointed: z.boolean(),
  }),
  z.strictObject({
    ...base,
    state: z.literal('waiting'),
    startedAt: z.number(),
    waitingFor: z.enum(waitReasons),
    /** In the order of the calls. A list names the first hundred of a task, and that by which a supervisor waits. */
    waits: z.array(OpenWait),
    /** In a list: how many more are open. */
    moreWaits: z.int().min(1).optional(),
    /** Where its code and its recorded history differ, when it is parked for that. */
    divergence: Divergence.optional(),
  }),
  z.strictObject({ ...base, ...finished, state: z.literal('completed'), output: z.string() }),
  z.strictObject({
    ...base,
    ...finished,
    state: z.literal('failed'),
    kind: z.enum(failureKinds),
    error: z.string(),
  }),
  z.strictObject({
    ...base,
    ...finished,
    state: z.literal('canceled'),
    reason: z.string().optional(),
    abort: ExecutionLease.shape.abort,
  }),
  z.strictObject({
    ...base,
    ...finished,
    state: z.literal('rejected'),
    reason: z.enum(rejectionReasons),
    message: z.string(),
  }),
])
export type TaskRecord = z.infer<typeof TaskRecord>
