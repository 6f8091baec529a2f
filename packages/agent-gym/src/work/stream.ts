import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { definePipeline, defineTask, type TaskDefinition } from '@ku0/agent-runtime'
import { z } from 'zod'
import type { StreamInput } from './plan.ts'
import { type World, witnessed } from './attend.ts'
import { sha256 } from './tree.ts'

const Given = z.custom<StreamInput>((value) => typeof value === 'object' && value !== null)
const Item = z.object({ place: z.int(), digest: z.string() })
type Item = z.infer<typeof Item>

/** So few that the first stage has to wait for the others. */
const maxUnread = 100

/** A pipeline of three stages: it reads files, hashes what was read, and sums up what comes in the order in which it comes. */
export function streamTasks(world: World): readonly TaskDefinition[] {
  const read = defineTask({ type: 'stream-read', input: Given }, (ctx, { files, events, batch }) =>
    witnessed(world, ctx, async (effect) => {
      for (let from = 0; from < events; from += batch) {
        const items = await effect(`read:${from}`, () =>
          Promise.all(
            Array.from({ length: Math.min(batch, events - from) }, async (_, i): Promise<Item> => {
              const place = from + i
              const file = files[place % files.length] ?? ''
              return { place, digest: sha256(await readFile(join(world.folders.tree, file))) }
            }),
          ),
        )
        await ctx.publishAll('read', items)
      }
      return events
    }),
  )
  const hash = defineTask({ type: 'stream-hash', input: Given }, (ctx, { batch }) =>
    witnessed(world, ctx, async (effect) => {
      let count = 0
      for (;;) {
        const events = await ctx.receive({ read: Item }, { max: batch })
        if (events.length === 0) return count
        const items = await effect(`hash:${events[0]?.sequence}`, () =>
          events.map(({ data }) => hashed(data)),
        )
        await ctx.publishAll('hashed', items)
        count += items.length
      }
    }),
  )
  const sum = defineTask({ type: 'stream-sum', input: Given }, (ctx, { batch }) =>
    witnessed(world, ctx, async () => {
      const all: Item[] = []
      for (;;) {
        const events = await ctx.receive({ hashed: Item }, { max: batch })
        if (events.length === 0) return summed(all)
        all.push(...events.map(({ data }) => data))
      }
    }),
  )
  const pipeline = definePipeline({
    name: 'stream',
    input: Given,
    maxUnread,
    stages: [
      { name: 'read', task: read, input: (given) => given, publishes: { read: Item } },
      {
        name: 'hash',
        task: hash,
        input: (given) => given,
        subscribes: ['read'],
        publishes: { hashed: Item },
      },
      { name: 'sum', task: sum, input: (given) => given, subscribes: ['hashed'] },
    ],
  })
  return [pipeline, read, hash, sum]
}

/** What the pipeline has to return, worked out from the digests of the files. */
export function streamResult({ files, events }: StreamInput, digestOf: (file: string) => string): unknown {
  const items = Array.from({ length: events }, (_, place) =>
    hashed({ place, digest: digestOf(files[place % files.length] ?? '') }),
  )
  return { read: events, hash: events, sum: summed(items) }
}

function hashed({ place, digest }: Item): Item {
  return { place, digest: sha256(`${place} ${digest}`) }
}

/** Another order, or one of them twice, gives another digest. */
function summed(items: readonly Item[]): { readonly events: number; readonly digest: string } {
  return { events: items.length, digest: sha256(items.map(({ digest }) => digest).join('')) }
}
