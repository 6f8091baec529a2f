import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { createRuntime, TaskFailed } from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { kinds, tasks } from './programs/tasks.ts'

const count = Number(process.env['NEIGHBOURS'] ?? draws(20, 20, 1_000))
/** A tenth of each: what ends it, and how it fails. */
const bad = [
  ['spin', 'timeout'],
  ['hog', 'hard_limit'],
  ['exit', 'crashed'],
] as const

/** What this process holds of the system, as far as the platform shows it. */
interface Held {
  readonly threads: number
  readonly children: number
  readonly descriptors: number
}

function held(): Held {
  if (process.platform !== 'linux') return { threads: 0, children: 0, descriptors: 0 }
  const own = `/proc/${process.pid}`
  const threads = readdirSync(join(own, 'task'))
  const children = threads.flatMap((thread) => childrenOf(join(own, 'task', thread, 'children')))
  return {
    threads: threads.length,
    children: children.length,
    descriptors: readdirSync(join(own, 'fd')).length,
  }
}

function childrenOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8')
      .split(' ')
      .filter((pid) => pid !== '')
  } catch {
    return []
  }
}

describe.each(kinds)(
  `%s: of ${count} tasks a tenth never returns, a tenth fills its memory, a tenth exits (docs/isolation.md)`,
  { timeout: 3_600_000 },
  (kind) => {
    test('each of these ends alone with its own kind, the others complete, and nothing is left', async () => {
      const before = held()
      const runtime = await createRuntime({
        store: `sqlite:${join(folder(), 'it.db')}`,
        tasks,
        logger: false,
        workers: { count: 1, capacity: 4 },
        config: { abortGraceMs: 100 },
      })
      const items = Array.from({ length: count }, (_, n) => ({
        task: `${bad[n % 10]?.[0] ?? 'echo'}/${kind}`,
        input: n,
      }))
      const receipts = await runtime.submitMany(items)
      const ends = await Promise.all(
        receipts.map((receipt) =>
          runtime
            .result(receipt)
            .catch((error: unknown) => (error instanceof TaskFailed ? error.kind : error)),
        ),
      )
      expect(ends).toEqual(items.map((_, n) => bad[n % 10]?.[1] ?? n))
      expect(await runtime.stats()).toMatchObject({ leaked: 0, totals: { expired: 0, requeued: 0 } })
      await runtime.stop()
      await expect.poll(held).toSatisfy(
        (now: Held) =>
          now.children <= before.children &&
          // The platform starts helpers of its own when they are first needed: descriptors of the loop, and compilers.
          now.threads <= before.threads + 1 &&
          now.descriptors <= before.descriptors + 4,
      )
    })
  },
)
