import { type Claim, parseJson, type Reads } from '@ku0/agent-runtime-core'
import { z } from '../wire/zod.ts'
import { Value } from '../wire/schema.ts'

type Memos = Reads['memos']['answer']

const seen = { key: z.string(), position: z.int() }

/** A task that is given to a worker of another language. */
export const ClaimSchema = z
  .object({
    leaseId: z.string(),
    taskId: z.string(),
    type: z.string(),
    lane: z.string(),
    attempt: z.int(),
    crashes: z.int(),
    input: Value,
    labels: z.record(z.string(), z.string()).optional(),
    model: z.string().optional().openapi({ description: 'The one that it has now' }),
    timeoutMs: z
      .number()
      .optional()
      .openapi({ description: 'The time that the handler has; it looks at it itself' }),
    checkpoint: Value.optional(),
    memos: z
      .object({
        steps: z.array(z.object({ ...seen, result: Value, inputHash: z.string().optional() })),
        waits: z.array(
          z.object({
            ...seen,
            kind: z.string(),
            outcome: z.string().openapi({ description: '`fired`, `received` or `timed_out`' }),
            value: Value.optional(),
          }),
        ),
        open: z.array(z.object({ ...seen, kind: z.string() })),
        failures: z.array(z.object({ key: z.string(), error: z.unknown() })),
        inDoubt: z
          .array(z.object({ key: z.string(), starts: z.int() }))
          .openapi({ description: 'Steps that were begun, and of which nobody knows how they ended' }),
      })
      .openapi({
        description: 'The record of earlier passes: a call whose key is here is answered, and not done',
      }),
  })
  .openapi('WorkerClaim')

/** A claim with the memos of its task, as JSON. */
export function claimJson(claim: Claim, memos: Memos | undefined): z.input<typeof ClaimSchema> {
  const { leaseId, taskId, type, lane, attempt, crashes, submission, checkpoint } = claim
  const {
    input,
    labels,
    timeoutMs,
    model: first,
  } = parseJson(submission) as {
    readonly input?: unknown
    readonly labels?: Record<string, string>
    readonly timeoutMs?: number
    readonly model?: string
  }
  const model = memos?.model ?? first
  return {
    leaseId,
    taskId,
    type,
    lane,
    attempt,
    crashes,
    input: input ?? null,
    ...(labels === undefined ? {} : { labels }),
    ...(model === undefined ? {} : { model }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(checkpoint === undefined ? {} : { checkpoint: parseJson(checkpoint) }),
    memos: memos === undefined ? noMemos : memosOf(memos),
  }
}

function memosOf({ steps, waits, open, failures, inDoubt }: Memos) {
  return {
    steps: steps.map(({ key, position, result, inputHash }) => ({
      key,
      position,
      result: parseJson(result),
      ...(inputHash === undefined ? {} : { inputHash }),
    })),
    waits: waits.map(waitJson),
    open: open.map(({ key, position, kind }) => ({ key, position, kind })),
    failures: failures.map(({ key, error }) => ({ key, error: parseJson(error) })),
    inDoubt: inDoubt.map(({ key, starts }) => ({ key, starts })),
  }
}

/** A wait that is over. */
export function waitJson(wait: {
  readonly key: string
  readonly position: number
  readonly kind: string
  readonly outcome: string
  readonly value?: string | undefined
}) {
  const { key, position, kind, outcome, value } = wait
  return { key, position, kind, outcome, ...(value === undefined ? {} : { value: parseJson(value) }) }
}

const noMemos = { steps: [], waits: [], open: [], failures: [], inDoubt: [] }
