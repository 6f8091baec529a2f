import { z } from './zod.ts'
import { isTimeName } from './times.ts'

/** A moment in JSON. */
export const Moment = z.iso.datetime().openapi({ example: '2026-01-01T00:00:00.000Z' })

/** A value of a user: plain JSON, or the form of the codec for what JSON lacks. */
export const Value = z
  .unknown()
  .openapi({ description: 'Any JSON. A Date, a Map and their like are `{"$ku0": […]}`.' })

/** The input of a task; a task type without an input takes `undefined`, which JSON says by leaving it out. */
export const Input = Value.optional().openapi({
  description: 'Any JSON; without it `undefined`. A Date, a Map and their like are `{"$ku0": […]}`.',
})

/**
 * The shape of a record of core as it is answered: its moments are ISO 8601. Fields of `more` take the place of those of the same name.
 */
export function answered<Shape extends z.ZodRawShape>(
  record: z.ZodObject,
  more: Shape = {} as Shape,
): z.ZodObject<z.ZodRawShape> {
  const shape = Object.fromEntries(
    Object.entries(record.shape).map(([name, field]) => [name, over(name, field)]),
  )
  return z.object({ ...shape, ...more })
}

function over(name: string, field: z.core.$ZodType): z.ZodType {
  if (field instanceof z.ZodOptional) return over(name, field.unwrap()).optional()
  if (field instanceof z.ZodObject) return answered(field)
  if (field instanceof z.ZodArray) return z.array(over('', field.element))
  if (isTimeName(name) && field instanceof z.ZodNumber) return Moment
  return field as z.ZodType
}
