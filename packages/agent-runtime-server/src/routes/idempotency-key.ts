import type { Caller } from '../access/caller.ts'
import { fieldsRefused } from '../problem/problem.ts'
import { z } from '../wire/zod.ts'

/** The headers of a request that a key makes one, however often it is sent. */
export const KeyHeader = z.object({
  'idempotency-key': z.string().min(1).max(255).optional().openapi({
    description: 'The same key with the same content does nothing more, and is answered as the first time',
  }),
})

/** A key that would be ignored is refused: its sender would believe that a second request is harmless. */
export function keyRefused() {
  return fieldsRefused([
    {
      field: 'header Idempotency-Key',
      allowed:
        'not given: this route does its work once for each request, so a key would not hold a second one back; in a batch each submission has a key of its own',
    },
  ])
}

/** The key of what is no submission, from the body or the header. */
export function ownKeyOf(
  option: string | undefined,
  header: string | null | undefined,
): { readonly key?: string } {
  const key = oneOf(option, header, 'body.key')
  return key === undefined ? {} : { key }
}

/** The key of what a request submits, from its body or its header. */
export function keyOf(
  { client }: Caller,
  option: string | undefined,
  header: string | null | undefined,
  place: string,
): string | undefined {
  const key = oneOf(option, header, `${place}.idempotencyKey`)
  // Keys of one client say nothing of the tasks of another.
  return key === undefined || client === undefined ? key : `${client}/${key}`
}

function oneOf(option: string | undefined, header: string | null | undefined, field: string) {
  if (typeof header === 'string' && (header.length === 0 || header.length > 255))
    throw fieldsRefused([{ field: 'header Idempotency-Key', allowed: '1 to 255 characters' }])
  if (typeof header === 'string' && option !== undefined && header !== option)
    throw fieldsRefused([{ field, allowed: 'the same as the header Idempotency-Key, or nothing' }])
  return header ?? option
}
