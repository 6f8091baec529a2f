import { lanes, parseJson } from '@ku0/agent-runtime-core'
import { LINE_VERSION, type UpFrame } from '@ku0/agent-runtime-persistence/lines'
import { z } from 'zod'
import { wrongFrame } from './refusals.ts'

const id = z.string().min(1).max(255)
const count = z.int().min(0)
const interest = z.strictObject({
  types: z.union([z.literal('all'), z.array(z.string())]),
  tasks: z.array(z.string()),
})

/** The port's own schemas check the operations and questions. */
const kinded = z.looseObject({ kind: z.string() })

const message = z.discriminatedUnion('to', [
  z.strictObject({
    to: z.literal('write'),
    call: count,
    operation: kinded,
    again: z.literal(true).optional(),
  }),
  z.strictObject({ to: z.literal('read'), call: z.int(), query: kinded }),
  z.strictObject({ to: z.literal('demand'), workerId: id, credit: count }),
  z.strictObject({ to: z.literal('interest'), interest }),
  z.strictObject({ to: z.literal('ping'), ping: count }),
])

const frames = z.union([
  z.strictObject({ acked: count, messages: z.array(message) }),
  z.strictObject({
    hello: z.looseObject({
      version: z.int(),
      session: z.string().min(32).max(255),
      processId: id,
      workers: z
        .array(
          z.strictObject({
            workerId: id,
            capacity: count,
            types: z.array(id),
            lanes: z.array(z.enum(lanes)).optional(),
            // The port's own schema checks them when the worker is registered.
            settings: z.record(id, z.unknown()).optional(),
            draining: z.boolean(),
            demand: z.strictObject({ credit: count, given: count }).optional(),
          }),
        )
        .max(1_000),
      leases: z.array(z.strictObject({ leaseId: z.string().max(255), taskId: z.string() })).max(50_000),
      interest,
    }),
  }),
])

/** A greeting of another version may have any form beyond its version. */
const otherHello = z.looseObject({ hello: z.looseObject({ version: z.int() }) })

/** Reads a frame; throws for one that is none. */
export function readFrame(text: string, maxBytes: number): UpFrame {
  if (Buffer.byteLength(text) > maxBytes)
    throw wrongFrame(`a frame is larger than ${maxBytes} bytes (maxLineFrameBytes)`)
  const given: unknown = parseJson(text)
  const { success, data, error } = frames.safeParse(given)
  if (success) return data as unknown as UpFrame
  const other = otherHello.safeParse(given)
  if (other.success && other.data.hello.version !== LINE_VERSION) return other.data as unknown as UpFrame
  throw wrongFrame(`a frame is not what the protocol says: ${z.prettifyError(error).slice(0, 500)}`)
}
