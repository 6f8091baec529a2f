import { createVirtualEnvironment, type VirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { openStore } from '@ku0/agent-runtime-persistence'
import { type ExecutionConfigInput, type ExecutionStore } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { onTestFinished } from 'vitest'
import { createRuntime, type Runtime, type RuntimeOptions } from '../src/index.ts'
import { systemEnvironment } from '../src/system.ts'

/**
 * A line of the runtime's log.
 * @public The compiler names it in the types of what tests share.
 */
export interface LogLine {
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A runtime on a real store in memory, on time that the test moves. */
export interface VirtualRuntime {
  readonly runtime: Runtime
  readonly environment: VirtualEnvironment
  /** The store below, for what only another process could do to it. */
  readonly store: ExecutionStore
  readonly log: readonly LogLine[]
  /** Moves time on as a process with a free event loop sees it: what a timer starts runs before the next timer does. */
  readonly elapse: (ms: number) => Promise<void>
  /** Moves time on in one jump, as a process sees it whose event loop was blocked. */
  readonly block: (ms: number) => Promise<void>
}

export function virtualEnvironment(): VirtualEnvironment {
  return createVirtualEnvironment('runtime', { digest: systemEnvironment.digest })
}

/** Stopped when the test is over. */
export async function virtualRuntime({
  database = ':memory:',
  environment = virtualEnvironment(),
  ...options
}: Omit<RuntimeOptions, 'store' | 'environment' | 'config'> & {
  readonly config?: ExecutionConfigInput
  /** Its file; in memory when absent. */
  readonly database?: string
  /** That of the runtime before, to go on at its time. */
  readonly environment?: VirtualEnvironment
}): Promise<VirtualRuntime> {
  const { config } = parseExecutionConfig(options.config)
  const store = await openStore(`sqlite:${database}`, { config, environment, checked: false })
  const log: LogLine[] = []
  const runtime = await createRuntime({
    telemetry: false,
    logger: collector(log),
    ...options,
    store,
    environment,
  })
  onTestFinished(async () => {
    const stopped = runtime.stop({ drain: false })
    void runtime.stop()
    await stopped
    await store.close()
  })
  return {
    runtime,
    environment,
    store,
    log,
    elapse: (ms) => elapse(environment, ms),
    async block(ms) {
      environment.clock.advanceBy(ms)
      await turns()
    },
  }
}

/** Moves time on as a process with a free event loop sees it: what a timer starts runs before the next timer does. */
export async function elapse({ clock }: VirtualEnvironment, ms: number): Promise<void> {
  const target = clock.now() - clock.skew + ms
  await turns()
  for (let next = clock.nextAt; next !== undefined && next <= target; next = clock.nextAt) {
    clock.advanceTo(next)
    // Epoch ms are too coarse for a timer of a fraction of one: it may still be a hair away.
    if (clock.nextAt === next) clock.advanceBy(0.001)
    await turns()
  }
  clock.advanceTo(target)
  await turns()
}

/** Lets everything run that waits for nothing but its turn. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/**
 * Waits for something to become true: first for as long as the event loop has something to do for it, and then for other threads and processes, which a busy
 * machine may let run late.
 */
export async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn += 1) {
    if (turn === 15_000) throw new Error(`never came true: ${holds.toString()}`)
    await new Promise((resolve) => (turn < 10_000 ? setImmediate(resolve) : setTimeout(resolve, 5)))
  }
}

/** A door that a handler waits at until the test opens it. */
export function gate<T = void>(): PromiseWithResolvers<T> {
  return Promise.withResolvers<T>()
}

function collector(
  lines: LogLine[],
): Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void> {
  const at = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, fields: fields as Record<string, unknown> })
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Everything that an iterable gives, until it ends. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}
