import { z } from 'zod'
import { defineTask } from '../../src/index.ts'

export const plan = defineTask({ type: 'plan', input: z.object({ topic: z.string() }) }, (_, { topic }) => [
  topic,
  'more',
])

export const count = defineTask({ type: 'count', input: z.string() }, (_, text) => text.length)
