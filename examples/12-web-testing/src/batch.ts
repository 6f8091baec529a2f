// The same five stages as a batch: each begins when the one before has ended. And what a pipeline could make of it at best.
import { defineTask } from '@ku0/agent-runtime'
import type { EventIn, EventType } from './events.ts'
import { retry, site, subscribes } from './pipeline.ts'
import * as stages from './stages.ts'

/** A piece of work: the event that it was for, the time that it took, and the events that it gave. Without an event it is work at the beginning or the end of its stage. */
export interface Piece {
  readonly stage: string
  readonly of: number | 'end' | undefined
  readonly ms: number
  readonly gave: readonly number[]
}

/** One task for all five: a batch has no children and no log, and so the least that it can cost. `tell` hears of each piece of work. */
export function batchTask(tell: (piece: Piece) => void = () => undefined) {
  return defineTask({ type: 'batch', input: site, retry }, async (ctx, given) => {
    const log: EventIn<EventType>[] = []

    async function run<In extends EventType, Out extends EventType, Result>(
      stage: string,
      work: (bench: stages.Bench<In, Out>) => Promise<Result>,
      types: readonly In[],
    ): Promise<Result> {
      let piece: { of: Piece['of']; at: number; gave: number[] } = {
        of: types.length === 0 ? undefined : 'end',
        at: performance.now(),
        gave: [],
      }
      const next = (of: Piece['of']) => {
        const now = performance.now()
        tell({ stage, of: piece.of, ms: now - piece.at, gave: piece.gave })
        piece = { of, at: now, gave: [] }
      }
      const taken = [...log.entries()].filter(([, { type }]) => types.some((it) => it === type))
      const result = await work({
        site: given.site,
        async *events() {
          for (const [at, event] of taken) {
            next(at)
            yield [event as EventIn<In>]
          }
          next('end')
        },
        publish: (type, data) => {
          piece.gave.push(log.length)
          log.push({ type, data } as EventIn<EventType>)
          return Promise.resolve()
        },
        step: (key, does) => {
          // What a stage does without events comes in pieces of a step.
          if (types.length === 0) next(undefined)
          return ctx.step(`${stage}: ${key}`, does)
        },
      })
      next('end')
      return result
    }

    await run('recon', stages.recon, [])
    await run('behavior', stages.behavior, subscribes.behavior)
    await run('load', stages.load, subscribes.load)
    await run('observer', stages.observer, subscribes.observer)
    return { synthesis: await run('synthesis', stages.synthesis, subscribes.synthesis) }
  })
}

/** The sum of the pieces, and the time that they take if each stage works on an event as soon as it is there and it has nothing else to do. */
export function boundOf(pieces: readonly Piece[]): { readonly sum: number; readonly criticalPath: number } {
  const thereAt = new Map<number, number>()
  let begins = 0
  let criticalPath = 0
  for (const stage of new Set(pieces.map((piece) => piece.stage))) {
    const own = pieces.filter((piece) => piece.stage === stage)
    const when = ({ of }: Piece) => (of === undefined ? 0 : of === 'end' ? Infinity : (thereAt.get(of) ?? 0))
    let now = 0
    for (const piece of own.toSorted((a, b) => when(a) - when(b))) {
      // Its stream ends with the stages before it.
      now = Math.max(now, piece.of === 'end' ? begins : when(piece)) + piece.ms
      for (const event of piece.gave) thereAt.set(event, now)
    }
    begins = Math.max(begins, now)
    criticalPath = begins
  }
  return { sum: pieces.reduce((sum, { ms }) => sum + ms, 0), criticalPath }
}
