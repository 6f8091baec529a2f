import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { defineTask } from '../../../src/index.ts'
import { z } from 'zod'

/** Notes where it ran, and ends when there is a file `go` beside it. */
export const note = defineTask(
  { type: 'note', input: z.object({ file: z.string(), n: z.number(), go: z.string() }) },
  async (ctx, { file, n, go }) => {
    await ctx.step('note', () => {
      appendFileSync(file, `${n} ${process.pid}\n`)
      return n
    })
    while (!existsSync(go)) await setTimeout(20)
    return process.pid
  },
)

/** Notes where it ran, and works for a while. */
export const slow = defineTask(
  { type: 'slow', input: z.object({ file: z.string(), n: z.number() }) },
  async (ctx, { file, n }) => {
    await ctx.step('note', () => appendFileSync(file, `${n} ${process.pid}\n`))
    await ctx.step('work', () => setTimeout(150))
  },
)

/** Blocks its process until it is killed. */
export const stuck = defineTask(
  { type: 'stuck', input: z.object({ file: z.string() }) },
  async (ctx, { file }) => {
    appendFileSync(file, `stuck ${process.pid}\n`)
    await new Promise((_, stop) => ctx.signal.addEventListener('abort', () => stop(ctx.signal.reason)))
  },
)
