import { z } from './zod.ts'

/** The id of a task in a path. */
export const TaskPath = z.strictObject({ taskId: z.string().min(1).max(255) })

/** The name of a client in a path. */
export const ClientPath = z.strictObject({ client: z.string().min(1).max(255) })

/** The same; the empty one is the client of all tasks that name none. */
export const PayerPath = z.strictObject({ client: z.string().max(255) })

/** A list in a query, separated by commas: `states=queued,running`. */
export function commaList<Item extends z.ZodType<string, string>>(item: Item) {
  return z
    .string()
    .max(4_096)
    .transform((text) => text.split(','))
    .pipe(z.array(item))
    .optional()
    .openapi({ type: 'array', items: { type: 'string' }, param: { style: 'form', explode: false } } as never)
}

/** A whole number in a query. */
export function wholeText(least: number, most: number) {
  return z
    .string()
    .regex(/^\d{1,16}$/, { error: `a whole number from ${least} to ${most}` })
    .transform(Number)
    .pipe(z.int().min(least).max(most))
    .optional()
    .openapi({ type: 'integer', minimum: least, maximum: most } as never)
}

/** Yes or no in a query. */
export const flagText = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional()
  .openapi({ type: 'boolean' } as never)

/** A place in a list, as a page before gave it. */
export const CursorText = z
  .string()
  .regex(/^\d{1,16}$/, { error: 'the cursor of a page' })
  .transform(Number)
  .pipe(z.int().min(0).max(Number.MAX_SAFE_INTEGER))
  .optional()
  .openapi({ type: 'string', description: 'The `cursor` of the page before' } as never)

/** How much a page holds. */
export const LimitText = wholeText(1, 1_000)

/** The query of a page of a task's events, output or steps. */
export const SeqPage = z.strictObject({
  after: wholeText(0, Number.MAX_SAFE_INTEGER),
  limit: LimitText,
})

/** The worker that a path names. */
export const WorkerPath = z.strictObject({ worker: z.string().min(1).max(255) })
