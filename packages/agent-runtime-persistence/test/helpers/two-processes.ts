import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type Environment, type ExecutionConfigInput, type Timer, type Timers } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment, VirtualClock } from '@ku0/agent-runtime-core/testing'
import { onTestFinished } from 'vitest'
import { openStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from './scratch-folder.ts'
import { assertClosedStore } from './closed-store.ts'

/** A process as far as its store sees it: a wall clock that may be wrong, timers that stand still while it is stopped. */
class Process {
  readonly scene: Scene
  private readonly timers: StoppableTimers

  constructor(scene: Scene, timers: StoppableTimers) {
    this.scene = scene
    this.timers = timers
  }

  /** It does nothing more until it is woken: no heartbeat, no sweep. */
  stop(): void {
    this.timers.stopped = true
  }

  /** It goes on: what should have run meanwhile runs now. */
  wake(): void {
    this.timers.stopped = false
    for (const run of this.timers.missed.splice(0)) run()
  }
}

class StoppableTimers implements Timers {
  stopped = false
  readonly missed: (() => void)[] = []
  private readonly inner: Timers

  constructor(inner: Timers) {
    this.inner = inner
  }

  after(delayMs: number, run: () => void): Timer {
    return this.inner.after(delayMs, () => {
      if (this.stopped) this.missed.push(run)
      else run()
    })
  }
}

/** Two stores on one file in one virtual boot: one monotonic time, a wall clock each. */
export async function twoProcesses(
  options: { skews?: readonly [number, number]; config?: ExecutionConfigInput } = {},
): Promise<[Process, Process]> {
  const path = join(scratchFolder(), 'store.db')
  const clock = new VirtualClock()
  const { config } = parseExecutionConfig(options.config ?? {})
  onTestFinished(() => assertClosedStore(path, config))
  const open = async (seed: string, skew: number) => {
    const view = clock.withSkew(skew)
    const timers = new StoppableTimers(view)
    const environment: Environment = {
      ...createVirtualEnvironment(seed),
      digest: nodeDigest,
      clock: view,
      timers,
    }
    const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
    onTestFinished(() => store.close())
    return new Process(new Scene(store, config, clock, { digest: nodeDigest }), timers)
  }
  const [first, second] = options.skews ?? [0, 0]
  const pair: [Process, Process] = [await open('first', first), await open('second', second)]
  onTestFinished(async () => {
    for (const { scene } of pair) assert.deepEqual(await scene.violations(), [])
  })
  // Both have had their first look around, and know of each other.
  await pair[0].scene.pass(1_000)
  return pair
}
