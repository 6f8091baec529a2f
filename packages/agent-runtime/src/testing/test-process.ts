import type { StoredEvent } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment, SeededRandom, type VirtualClock } from '@ku0/agent-runtime-core/testing'
import { assertStoreUrl, openStore } from '@ku0/agent-runtime-persistence'
import { composeRuntime } from '../composed-runtime.ts'
import type { RuntimeOptions } from '../options.ts'
import type { Runtime } from '../api/runtime.ts'
import { readRuntimeOptions } from '../checked-options.ts'
import { systemEnvironment } from '../system.ts'
import { Life, MortalTimers } from './life.ts'
import { MortalStore } from './mortal-store.ts'
import { observedTask } from './observed-task.ts'
import type { StepLedger } from './step-ledger.ts'
import type { TestRuntimeOptions } from './test-runtime.ts'

/** Shared by the processes of one test. */
export interface Shared {
  readonly options: TestRuntimeOptions
  readonly clock: VirtualClock
  readonly ledger: StepLedger
  readonly heard: (events: readonly StoredEvent[]) => void
  /** Called after each commit of the live process. */
  readonly committed: () => void
  readonly refusedChild: (taskId: string) => void
}

/** One process of a test, from its start to its end or crash. */
export class TestProcess {
  readonly runtime: Runtime
  readonly store: MortalStore
  readonly life: Life
  /** The runtime's timers only: the store's timers show nothing that a test waits for. */
  readonly timers: MortalTimers
  readonly #storeTimers: MortalTimers
  #closing: Promise<void> | undefined

  /** Starts the n-th process of the test, from 1. */
  static async start(shared: Shared, url: string, number: number): Promise<TestProcess> {
    const { options, clock, ledger } = shared
    const {
      seed = 'test',
      tasks,
      config: given,
      workers,
      evaluation,
      strict = false,
      logger,
      codecs,
      payloadCodec,
    } = options
    const life = new Life()
    const timers = new MortalTimers(clock, life)
    const storeTimers = new MortalTimers(clock, life)
    const drawn = createVirtualEnvironment(`${seed}\nprocess ${number}`, { digest: systemEnvironment.digest })
    const random = { next: (subject?: string) => drawFor(seed, subject) ?? drawn.random.next() }
    const ids = { uuid: (subject?: string) => idFor(seed, subject) ?? drawn.ids.uuid() }
    const environment = { ...drawn, clock, timers, random, ids }
    const runtimeOptions: RuntimeOptions = {
      store: url,
      tasks: Array.isArray(tasks) ? tasks.map((task) => observedTask(task, life, ledger)) : tasks,
      ...(given === undefined ? {} : { config: given }),
      ...(workers === undefined ? {} : { workers }),
      ...(evaluation === undefined ? {} : { evaluation }),
      codecs,
      payloadCodec,
      strict,
      logger: logger ?? false,
      telemetry: false,
      environment,
    }
    // What loads or waits once the store is open takes turns in which the store would begin alone.
    const checked = await readRuntimeOptions(runtimeOptions, assertStoreUrl)
    const inner = await openStore(url, {
      config: parseExecutionConfig(given).config,
      durability: 'normal',
      checked: false,
      environment: { ...environment, timers: storeTimers },
    })
    const store = new MortalStore(inner, life, {
      events: shared.heard,
      commit: shared.committed,
      refusedChild: shared.refusedChild,
    })
    try {
      const runtime = await composeRuntime(checked, store)
      return new TestProcess(runtime, store, life, timers, storeTimers)
    } catch (error) {
      await inner.close()
      throw error
    }
  }

  private constructor(
    runtime: Runtime,
    store: MortalStore,
    life: Life,
    timers: MortalTimers,
    storeTimers: MortalTimers,
  ) {
    this.runtime = runtime
    this.store = store
    this.life = life
    this.timers = timers
    this.#storeTimers = storeTimers
  }

  /** Calls that begin before the next process starts throw `refusal`; without it they wait. */
  die(refusal?: () => Error): void {
    this.life.dead = true
    this.timers.cancelAll()
    this.#storeTimers.cancelAll()
    this.store.died(refusal)
  }

  /** Stops the process at once. A dead one only releases its files. */
  stop(): Promise<void> {
    this.#closing ??= this.#stop()
    return this.#closing
  }

  async #stop(): Promise<void> {
    if (!this.life.dead) {
      const stopped = this.runtime.stop({ drain: false })
      void this.runtime.stop()
      await stopped
    }
    await this.store.close()
  }
}

/** An id that is the same in every process of a test for the same subject, whatever was drawn before. */
function idFor(seed: number | string, subject: string | undefined): string | undefined {
  return subject === undefined ? undefined : createVirtualEnvironment(`${seed}\n${subject}`).ids.uuid()
}

/** The same for a draw. */
function drawFor(seed: number | string, subject: string | undefined): number | undefined {
  return subject === undefined ? undefined : new SeededRandom(`${seed}\n${subject}`).next()
}
