import { statSync } from 'node:fs'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type ResourceCount, watchResources } from '../host/resources.ts'

/** The memory and the handles that the process holds at one moment, nothing being under way. Sizes in bytes. */
export interface Sample {
  /** Tasks that have ended by then. */
  readonly tasks: number
  /** The memory that programs keep: without compiled code, which grows for the first ten thousand tasks and is no leak. */
  readonly heap: number
  readonly external: number
  readonly buffers: number
  readonly rss: number
  /** Open handles and descriptors, and timers that are armed. */
  readonly handles: number
  /** On `process`, and on the signal that all work shares. */
  readonly listeners: number
  readonly wal: number
  readonly database: number
}

/** Takes samples. */
export class Sampler {
  readonly #watch = watchResources({ timers: true })
  readonly #collect = collector()
  readonly #signals: readonly AbortSignal[]
  readonly #database: string

  constructor(database: string, signals: readonly AbortSignal[]) {
    this.#database = database
    this.#signals = signals
  }

  /** After two collections: what the first one frees may keep something else alive until the second. */
  async take(tasks: number): Promise<Sample> {
    for (let turn = 0; turn < 2; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      this.#collect()
    }
    const { external, arrayBuffers, rss } = process.memoryUsage()
    const resources = this.#watch.count(this.#signals)
    return {
      tasks,
      heap: dataHeap(),
      external,
      buffers: arrayBuffers,
      rss,
      handles: handlesIn(resources),
      listeners: resources.listeners,
      wal: sizeOf(`${this.#database}-wal`),
      database: sizeOf(this.#database),
    }
  }

  get walSize(): number {
    return sizeOf(`${this.#database}-wal`)
  }
}

function handlesIn({ handles, descriptors, timers }: ResourceCount): number {
  const sum = (counts: Readonly<Record<string, number>>) =>
    Object.values(counts).reduce((total, count) => total + count, 0)
  return sum(handles) + sum(descriptors ?? {}) + timers
}

/** Whoever reads the size of a database by its name alone takes none of its locks. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function dataHeap(): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => !/^(?:code|trusted)_/.test(name))
  return spaces.reduce((sum, { space_used_size: used }) => sum + used, 0)
}

/** The collector of this thread's heap, whatever flags the process was started with; also of what only its caches keep. */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: object) => void
  return () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
