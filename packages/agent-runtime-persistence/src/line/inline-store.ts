import { MAX_ARMED_MS, type Environment, type Timer } from '@ku0/agent-runtime-core'
import type { Engine } from '../engine/engine.ts'
import type { Message } from '../engine/message.ts'
import { runNow } from '../engine/steps.ts'
import { openStoreEngine, type EngineOptions, type StoreEngine } from '../sqlite/store-engine.ts'
import { StoreFront, type Line } from './front.ts'
import { SleepWatch } from './sleep-watch.ts'

/**
 * A store in the thread of its callers. Calls made in one turn of the event loop share a commit. Time comes from the
 * environment, so on virtual time it is deterministic. The price: an fsync, or another process's lock, blocks the loop.
 */
export function openInlineStore(options: Omit<EngineOptions, 'stalledMs'>): StoreFront {
  return inlineStoreOf(openStoreEngine({ ...options, stalledMs: () => 0 }), options)
}

/** The same around an engine that is open. */
export function inlineStoreOf(
  { engine }: Pick<StoreEngine, 'engine'>,
  options: Pick<EngineOptions, 'environment'>,
): StoreFront {
  const front = new StoreFront()
  return front.connect(new InlineLine(engine, front, options))
}

class InlineLine implements Line {
  private readonly engine: Engine
  private readonly front: StoreFront
  private readonly environment: Environment
  private readonly sleep: SleepWatch
  private timer: Timer | undefined
  private armedFor = Number.POSITIVE_INFINITY
  private scheduled = false
  private ended = false

  constructor(engine: Engine, front: StoreFront, { environment }: Pick<EngineOptions, 'environment'>) {
    this.engine = engine
    this.front = front
    this.environment = environment
    this.sleep = new SleepWatch(environment.clock)
    // The first turn takes over from the dead: by then the process should have said what it wants to hear.
    this.armIn(firstTurnMs)
  }

  get info() {
    return this.engine.info
  }

  send(message: Message): void {
    const asked = this.engine.receive(message)
    if (asked !== undefined) runNow(asked)
    this.schedule()
  }

  /** While there are leases a timer is armed for their renewal: one that is overdue shows how long nothing has run. */
  mayHaveSlept(): boolean {
    return this.sleep.isFresh(this.look())
  }

  timesSlept(): number {
    this.look()
    return this.sleep.times
  }

  async end(): Promise<void> {
    this.front.receive(runNow(this.engine.finish()))
    this.ended = true
    this.timer?.cancel()
    runNow(this.engine.close())
  }

  private look(): number {
    const now = this.sleep.awake(this.armedFor)
    // Seen: the timer may have to wait until those who ask now let go of the thread.
    this.armedFor = Math.max(this.armedFor, now)
    return now
  }

  private schedule(): void {
    if (this.scheduled || this.ended) return
    this.scheduled = true
    queueMicrotask(() => this.turn())
  }

  private turn(): void {
    this.scheduled = false
    if (this.ended) return
    this.front.receive(runNow(this.engine.take()))
    this.arm()
  }

  private arm(): void {
    const rest = this.engine.restMs()
    if (rest === 0) {
      this.schedule()
      return
    }
    if (!Number.isFinite(rest)) return
    this.armIn(rest)
  }

  private armIn(rest: number): void {
    const at = this.environment.clock.monotonic() + rest
    if (this.timer !== undefined && this.armedFor <= at) return
    this.timer?.cancel()
    this.armedFor = at
    this.timer = this.environment.timers.after(Math.min(Math.ceil(rest), MAX_ARMED_MS), () => {
      this.look()
      this.timer = undefined
      this.armedFor = Number.POSITIVE_INFINITY
      this.schedule()
    })
  }
}

const firstTurnMs = 100
