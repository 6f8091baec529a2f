import { type ExecutionConfigInput } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import type { VirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import {
  createRuntime,
  defineTask,
  type Runtime,
  type TaskContext,
  type TaskStatus,
} from '../../src/index.ts'
import { turns, virtualEnvironment } from '../virtual-runtime.ts'

/** The code of a task type: one version of it. */
export type Version = (ctx: TaskContext) => unknown

/** Where a process hangs until it is stopped. */
export const crash = () => new Promise<never>(() => {})

/** One task, and the versions of its code that are deployed one after the other, on one store and on virtual time. */
export interface Versions {
  readonly taskId: string
  readonly environment: VirtualEnvironment
  /** That of the version deployed last. */
  runtime: Runtime
  /** Stops the version before, and lets this one run as far as it comes without time. */
  deploy(version: Version, options?: { readonly replay?: 'by-key' | 'strict' }): Promise<TaskStatus>
  /** The same without a worker: the version is there, and runs nothing. */
  review(version: Version): Promise<void>
  elapse(ms: number): Promise<TaskStatus>
  status(): Promise<TaskStatus>
  eventTypes(): Promise<readonly string[]>
}

/** Submits a task that runs on the first version. */
export async function begun(
  first: Version,
  options: {
    readonly replay?: 'by-key' | 'strict'
    readonly config?: ExecutionConfigInput
    readonly retry?: number
  } = {},
): Promise<Versions> {
  const environment = virtualEnvironment()
  const { config } = parseExecutionConfig(options.config)
  const store = await openStore('sqlite::memory:', { config, environment, checked: false })
  const open = (version: Version, replay: 'by-key' | 'strict' = 'by-key', workers = 1) =>
    createRuntime({
      workers,
      store,
      environment,
      telemetry: false,
      logger: false,
      config: options.config ?? {},
      tasks: [
        defineTask(
          {
            type: 'changing',
            input: z.null(),
            replay,
            ...(options.retry === undefined
              ? {}
              : { retry: { attempts: options.retry, backoff: { initialMs: 1_000, jitter: 0 } } }),
          },
          version,
        ),
      ],
    })
  const stop = async (runtime: Runtime) => {
    const stopped = runtime.stop({ drain: false })
    void runtime.stop()
    await stopped
  }
  const runtime = await open(first, options.replay)
  const { taskId } = await runtime.submit('changing', null)
  const versions: Versions = {
    taskId,
    environment,
    runtime,
    async deploy(version, { replay } = options) {
      await stop(versions.runtime)
      versions.runtime = await open(version, replay)
      return versions.elapse(0)
    },
    async review(version) {
      await stop(versions.runtime)
      versions.runtime = await open(version, options.replay, 0)
    },
    async elapse(ms) {
      const { clock } = environment
      const target = clock.now() + ms
      for (let round = 0; round < 3; round += 1) {
        await turns()
        for (let next = clock.nextAt; next !== undefined && next <= target; next = clock.nextAt) {
          clock.advanceTo(next)
          if (clock.nextAt === next) clock.advanceBy(0.001)
          await turns()
        }
        clock.advanceTo(Math.max(target, clock.now()))
      }
      await turns()
      return versions.status()
    },
    async status() {
      const status = await versions.runtime.status(taskId)
      if (status === undefined) throw new Error('there is no task')
      return status
    },
    async eventTypes() {
      const events = (await store.read({ kind: 'events', taskId, after: 0, limit: 1_000 })) ?? []
      return events.map(({ type }) => type)
    },
  }
  onTestFinished(async () => {
    await stop(versions.runtime)
    await store.close()
  })
  await versions.elapse(0)
  return versions
}
