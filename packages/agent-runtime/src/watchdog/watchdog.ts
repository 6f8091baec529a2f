import { type Clock, describeError, type Timer, type Timers } from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import type { StuckTask, WatchdogSettings } from '../api/watchdog.ts'
import type { Announce } from '../client/feed.ts'
import { assertWatchdog, findStuck, type StuckView } from './find-stuck.ts'

/** The parts of a watchdog. */
interface WatchdogDeps {
  readonly view: StuckView
  readonly settings: WatchdogSettings
  readonly clock: Clock
  readonly timers: Timers
  readonly announce: Announce
  /** Whether somebody listens to `task.stuck`. */
  readonly isHeard: () => boolean
  readonly log: LogLine
}

/**
 * Looks for stuck tasks every `everyMs`, and reports each when it is found, once while it stays stuck: the event `task.stuck`, or
 * a warning of the log if nobody listens to it. It ends nothing. Source: `docs/semantics.md 8.6`.
 */
export class Watchdog {
  readonly #deps: WatchdogDeps
  #timer: Timer | undefined
  #found: readonly StuckTask[] = []
  #open = false

  constructor(deps: WatchdogDeps) {
    assertWatchdog(deps.settings)
    this.#deps = deps
  }

  /** The tasks that were stuck at the last look. */
  get found(): readonly StuckTask[] {
    return this.#found
  }

  start(): void {
    if (this.#open) return
    this.#open = true
    this.#rest()
  }

  close(): void {
    this.#open = false
    this.#timer?.cancel()
  }

  #rest(): void {
    const { settings, timers } = this.#deps
    if (this.#open) this.#timer = timers.after(settings.everyMs ?? EVERY_MS, () => void this.#look())
  }

  async #look(): Promise<void> {
    const { view, settings, clock, announce, isHeard, log } = this.#deps
    const { everyMs: _everyMs, ...limits } = settings
    try {
      const { found } = await findStuck(view, limits, clock.now())
      if (!this.#open) return
      const known = new Set(this.#found.map(nameOf))
      this.#found = found
      for (const it of found) {
        if (known.has(nameOf(it))) continue
        const { taskId, ...facts } = it
        const { why: _why, ...short } = facts
        // The reason may hold the message of an error, which is for no log (`docs/semantics.md 16.3`).
        if (!isHeard())
          log('warn', 'a task is stuck; runtime.explain or agent-runtime show says why', { taskId, ...short })
        announce('task.stuck', taskId, 0, facts)
      }
    } catch (error) {
      if (this.#open)
        log('warn', 'the watchdog could not look for stuck tasks', { error: describeError(error) })
    }
    this.#rest()
  }
}

function nameOf({ what, taskId }: StuckTask): string {
  return `${what} ${taskId}`
}

const EVERY_MS = 60_000
