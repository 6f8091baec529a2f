// The module of a task that is handed over while its processes die: see handed-over.proof.test.ts.
import { appendFileSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { defineTask } from '../../../src/index.ts'

const { HAND_OVER_NOTES: notes = '', HAND_OVER_MAIN: main = '' } = process.env
const isRunner = main !== '' && main !== String(process.pid)

/** Says how often it has said that. */
function note(word: string): number {
  appendFileSync(notes, `${word}\n`)
  return readFileSync(notes, 'utf8')
    .split('\n')
    .filter((line) => line === word).length
}

// The second process is the first that has the task after it was handed over.
if (isRunner && note('loaded') === 2) process.exit(1)

export const careful = defineTask(
  { type: 'careful', input: z.string(), output: z.string() },
  (_ctx, text) => {
    note('careful')
    return `careful: ${text}`
  },
)

export const quick = defineTask(
  {
    type: 'quick',
    input: z.string(),
    output: z.string().refine(() => {
      if (isRunner && note('output') === 1) process.exit(1)
      return true
    }),
    isolation: 'process',
    module: import.meta.url,
    retry: { attempts: 1, backoff: { initialMs: 1 } },
    recovery: { crash: 'fallback_agent', fallback: { task: careful } },
  },
  (): string => {
    note('quick')
    process.exit(1)
  },
)
