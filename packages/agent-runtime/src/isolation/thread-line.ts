import { Worker } from 'node:worker_threads'
import { describeError, type UsageSample } from '@ku0/agent-runtime-core'
import type { Line, LineEars, RunnerEnd, RunnerSpec } from './line.ts'
import type { FromRunner, ToRunner } from './words.ts'

/** A runner in a thread of this process. */
export class ThreadLine implements Line {
  readonly #worker: Worker
  #end: Pick<RunnerEnd, 'isOutOfMemory' | 'error'> = { isOutOfMemory: false }

  constructor(entry: string, { memoryMb }: RunnerSpec, ears: LineEars) {
    this.#worker = new Worker(entry, {
      name: 'ku0-task',
      ...(memoryMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: memoryMb } }),
    })
    this.#worker.on('message', (text: string) => ears.heard(JSON.parse(text) as FromRunner))
    this.#worker.on('error', (error: unknown) => {
      const isOutOfMemory = (error as { readonly code?: unknown } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY'
      this.#end = isOutOfMemory ? { isOutOfMemory } : { isOutOfMemory, error: describeError(error) }
    })
    this.#worker.once('exit', (code) => ears.ended({ how: `exit code ${code}`, ...this.#end }))
  }

  say(word: ToRunner): void {
    this.#worker.postMessage(JSON.stringify(word))
  }

  kill(): void {
    void this.#worker.terminate()
  }

  async measure(): Promise<UsageSample | undefined> {
    const worker: Measured = this.#worker
    // Older versions of the platform cannot measure a thread from outside.
    if (worker.cpuUsage === undefined || worker.getHeapStatistics === undefined) return undefined
    const [{ user, system }, heap] = await Promise.all([worker.cpuUsage(), worker.getHeapStatistics()])
    return { computeUs: user + system, memoryBytes: heap.used_heap_size + heap.external_memory }
  }

  hold(isBusy: boolean): void {
    if (isBusy) this.#worker.ref()
    else this.#worker.unref()
  }
}

interface Measured {
  readonly cpuUsage?: () => Promise<{ readonly user: number; readonly system: number }>
  readonly getHeapStatistics?: () => Promise<{
    readonly used_heap_size: number
    readonly external_memory: number
  }>
}
