import { z } from 'zod'
import { defineContract } from '../../src/index.ts'

// What a program that submits and a program that runs tasks both import.

export const review = defineContract({
  type: 'review',
  input: z.object({ repo: z.string() }),
  output: z.object({ repo: z.string(), by: z.string() }),
})
