// The agents: one reads a source, one judges what was read, and an editor that asks as many of them as it needs.
import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

const Note = z.object({ source: z.string(), words: z.number() })

export const read = defineTask({ type: 'read', input: z.string() }, async (ctx, source) => {
  await ctx.sleep('a slow site', 100 * source.length)
  return ctx.step('note', () => ({ source, words: source.length * 100 }))
})

export const judge = defineTask({ type: 'judge', input: z.array(Note) }, (_, notes) => {
  const best = notes.toSorted((a, b) => b.words - a.words)[0]
  return best === undefined ? 'nothing' : `${best.source} (${best.words} words)`
})

export const merge = defineTask({ type: 'merge', input: z.record(z.string(), Note) }, (_, notes) =>
  Object.values(notes),
)

/** Children by hand: it does not know before how many there will be. */
export const editor = defineTask({ type: 'editor', input: z.array(z.string()) }, async (ctx, sources) => {
  const notes = await Promise.all(sources.map((source) => ctx.call(`read ${source}`, read, source)))
  const slow = await ctx.spawn('read the archive', read, 'a very long archive', { onParentEnd: 'abandon' })
  const verdict = await ctx.call('judge', judge, notes)
  return { verdict, archive: slow.taskId }
})
