import type { Caller } from '../access/caller.ts'
import { fieldsRefused } from '../problem/problem.ts'
import { z } from '../wire/zod.ts'

/** The headers of a request that submits a task. */
export const KeyHeader = z.object({
  'idempotency-key': z.string().min(1).max(255).optional().openapi({
    description:
      'The key of the submission: the same key with the same type and input is answered with the first receipt',
  }),
})

/** The key of what a request submits, from its body or its header. */
export function keyOf(
  { client }: Caller,
  option: string | undefined,
  header: string | null | undefined,
  place: string,
): string | undefined {
  if (typeof header === 'string' && option !== undefined && header !== option)
    throw fieldsRefused([
      { field: `${place}.idempotencyKey`, allowed: 'the same as the header Idempotency-Key, or nothing' },
    ])
  const key = header ?? option
  // Keys of one client say nothing of the tasks of another.
  return key === undefined || client === undefined ? key : `${client}/${key}`
}
