import { type Environment, isEnvironment, show, suggestionFor } from '@ku0/agent-runtime-core'
import { z } from 'zod'
import type { BackupOptions } from './backup-store.ts'
import type { OpenStoreOptions } from './open-store.ts'
import { parseGiven } from './parse-given.ts'
import type { VerifyOptions } from './verify-store.ts'

/** A field for each option, so that a new one cannot go unchecked. */
type Shape<T> = { readonly [F in keyof T]-?: z.ZodType<T[F]> }

const flag = z.boolean({ error: 'true or false' }).optional()
const signal = z.instanceof(AbortSignal, { error: 'an AbortSignal' }).optional()
const environment = z.custom<Environment>(isEnvironment, {
  error: 'an object of clock, timers, ids, random, digest',
})
const bounds = 'a whole number from 1 to 10 000'
const progress = z.custom<NonNullable<BackupOptions['onProgress']>>((given) => typeof given === 'function', {
  error: 'a function',
})

const shapes = {
  openStore: {
    // Whoever reads the settings says what is wrong with them.
    config: z.any().optional(),
    durability: z.enum(['full', 'normal'], { error: "'full' or 'normal'" }).optional(),
    acceptLoss: flag,
    thread: flag,
    checked: flag,
    environment: environment.optional(),
  } satisfies Shape<OpenStoreOptions>,
  backupStore: { onProgress: progress.optional(), signal } satisfies Shape<BackupOptions>,
  verifyStore: {
    maxFaults: z.int({ error: bounds }).min(1, { error: bounds }).max(10_000, { error: bounds }).optional(),
    signal,
  } satisfies Shape<VerifyOptions>,
}

interface Options {
  readonly openStore: OpenStoreOptions
  readonly backupStore: BackupOptions
  readonly verifyStore: VerifyOptions
}

/** The options of a call, once nothing is wrong with them; else it throws `invalid_argument` with all that is. */
export function parseOptions<C extends keyof Options>(call: C, given: unknown): Options[C] {
  const known = Object.keys(shapes[call])
  const schema = z.strictObject(shapes[call], {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownOption(key, known)).join(', ')
        : `an object of ${known.join(', ')}; given ${show(given)}`,
  })
  return parseGiven(`${call} options`, schema, given) as Options[C]
}

function unknownOption(name: string, known: readonly string[]): string {
  const meant = suggestionFor(name, known)
  return `no such option ${show(name)}${meant === undefined ? `; there are ${known.join(', ')}` : `, did you mean ${meant}?`}`
}
