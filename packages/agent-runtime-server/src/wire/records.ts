import { z } from './zod.ts'
import { budgetFields, lanes, rejectionReasons, taskStates } from '@ku0/agent-runtime-core'
import {
  BudgetRecord,
  ExecutionLease,
  StepRecord,
  TaskRecord,
  WorkerStatus,
} from '@ku0/agent-runtime-core/schemas'
import { answered, Input, Moment, Value } from './schema.ts'

/** An error as it is stored with a task. */
const ErrorSchema = z
  .looseObject({
    name: z.string(),
    message: z.string(),
    code: z.string().optional(),
    retryable: z.boolean().optional(),
  })
  .openapi('Error')

/** A task as it stands, by state. */
export const TaskSchema = z
  .discriminatedUnion(
    'state',
    TaskRecord.options.map((record) =>
      answered(record, {
        input: Value.optional(),
        ...('output' in record.shape ? { output: Value.optional() } : {}),
        ...('error' in record.shape ? { error: ErrorSchema } : {}),
      }),
    ) as never,
  )
  .openapi('Task')

export const LeaseSchema = answered(ExecutionLease).openapi('Lease')
export const BudgetSchema = answered(BudgetRecord).openapi('Budget')
export const WorkerSchema = answered(WorkerStatus).openapi('Worker')
export const StepSchema = answered(StepRecord, { result: Value }).openapi('Step')

/** A task with what belongs to it. */
export const TaskDetailsSchema = z
  .object({
    task: TaskSchema,
    leases: z
      .array(LeaseSchema)
      .openapi({ description: 'The last, live and ended; each has the attempt that it ran' }),
    hasOlderLeases: z.boolean().openapi({
      description: 'Whether others came before: each is in an event `task.started` of the task',
    }),
    steps: z.array(StepSchema).openapi({ description: 'The first, in the order of their records' }),
    stepsCursor: z.int().optional().openapi({
      description: 'There may be more: the `after` of `GET /tasks/{taskId}/steps`',
    }),
    children: z.array(TaskSchema).openapi({
      description: 'The newest, without their inputs and outputs: `GET /tasks?parent=` has all, with both',
    }),
    childrenCursor: z.string().optional().openapi({
      description: 'There may be more: the `cursor` of `GET /tasks?parent=`',
    }),
  })
  .openapi('TaskDetails')

const accepted = z.object({
  accepted: z.literal(true),
  taskId: z.string(),
  sequence: z.int(),
  deduplicated: z.boolean(),
})
const rejected = z.object({
  accepted: z.literal(false),
  taskId: z.string(),
  sequence: z.int(),
  reason: z.enum(rejectionReasons),
  message: z.string(),
  forGood: z.literal(true).optional(),
})

/** How a task ended, or the state in which it still is. */
export const OutcomeSchema = z
  .looseObject({ taskId: z.string(), state: z.enum(taskStates) })
  .openapi('Outcome', {
    description:
      '`completed` has `output`; `failed` has `kind` and `error`; `canceled` and `rejected` have `reason`; a task that is parked because its code took another path than its history has `divergence`.',
  })

/** The answer to a submission. */
export const ReceiptSchema = z.discriminatedUnion('accepted', [accepted, rejected]).openapi('Receipt')

/** Only what was accepted: what was rejected is answered as a problem with its receipt. */
export const AcceptedSchema = accepted.openapi('Accepted')
/** The same with how the task ended, for a caller who waits. */
export const SubmittedSchema = accepted.extend({ outcome: OutcomeSchema.optional() }).openapi('Submitted')

/** An event of a task. */
export const EventSchema = z
  .object({
    type: z.string(),
    taskId: z.string(),
    seq: z.int(),
    at: Moment,
    data: Value.openapi({ description: 'As it is stored and hashed: its times are epoch ms' }),
    hash: z.string().optional(),
    elsewhere: z.boolean().optional(),
  })
  .openapi('Event')

/** A value that a task emits. */
export const OutputItemSchema = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('chunk'), seq: z.int(), attempt: z.int(), at: Moment, data: Value }),
    z.object({ type: z.literal('attempt.restarted'), seq: z.int(), attempt: z.int() }),
  ])
  .openapi('OutputItem')

/** Amounts of a budget, each in its own unit. */
export const BudgetAmounts = z.strictObject(
  Object.fromEntries(budgetFields.map((field) => [field, z.number().min(0).optional()])),
)

/** The amounts that a task and all tasks below it may use up. */
export const BudgetOptionsSchema = z
  .strictObject({
    ...BudgetAmounts.shape,
    soft: z.union([z.number().min(0).max(1), BudgetAmounts]).optional(),
  })
  .openapi('BudgetOptions')

/** The library's names for the options of a submission. */
const SubmitOptionsSchema = z
  .strictObject({
    lane: z.enum(lanes).optional(),
    taskId: z.string().min(1).max(255).optional(),
    idempotencyKey: z.string().min(1).max(255).optional(),
    client: z.string().min(1).max(255).optional(),
    model: z.string().optional(),
    tools: z.array(z.string()).optional(),
    labels: z.record(z.string(), z.string()).optional(),
    dueAt: Moment.optional(),
    delayMs: z.number().min(0).optional(),
    timeoutMs: z.number().min(0).optional(),
    tokens: z.number().min(0).optional(),
    cost: z.number().min(0).optional(),
    budget: BudgetOptionsSchema.optional(),
    agreement: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .openapi({ description: 'The name of an agreement that the server knows: GET /agreements' }),
  })
  .openapi('SubmitOptions')

/** One submission. */
export const SubmissionSchema = z
  .strictObject({
    task: z.string().min(1).max(255).openapi({ description: 'The task type' }),
    input: Input,
    options: SubmitOptionsSchema.optional(),
  })
  .openapi('Submission')
