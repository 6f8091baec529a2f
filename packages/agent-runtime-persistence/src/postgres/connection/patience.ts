import type { Timer, Timers } from '@ku0/agent-runtime-core'

/**
 * Gives a connection up whose server says nothing for too long while something is asked: a network may swallow what is sent, and the connection
 * looks alive for a quarter of an hour.
 */
export class Patience {
  private readonly timers: Timers
  private readonly ms: number
  private readonly giveUp: (error: Error) => void
  /** How much longer than that each of those may take that are asked. */
  private readonly waits: number[] = []
  private timer: Timer | undefined

  constructor(timers: Timers, ms: number, giveUp: (error: Error) => void) {
    this.timers = timers
    this.ms = ms
    this.giveUp = giveUp
  }

  /** Something is asked, whose answers come in their order. `waitMs`: so much longer this one may take. */
  async until<T>(answer: Promise<T>, waitMs = 0): Promise<T> {
    if (this.waits.push(waitMs) === 1) this.begin()
    try {
      return await answer
    } finally {
      this.timer?.cancel()
      this.waits.shift()
      if (this.waits.length > 0) this.begin()
    }
  }

  private begin(): void {
    const ms = this.ms + (this.waits[0] ?? 0)
    this.timer = this.timers.after(ms, () =>
      this.giveUp(new Error(`the connection was given up: the server said nothing for ${ms} ms`)),
    )
  }
}
