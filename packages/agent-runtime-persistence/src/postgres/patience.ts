import type { Timer, Timers } from '@ku0/agent-runtime-core'

/**
 * Gives a connection up whose server says nothing for too long while something is asked: a network may swallow what is sent, and the connection
 * looks alive for a quarter of an hour.
 */
export class Patience {
  private readonly timers: Timers
  private readonly ms: number
  private readonly giveUp: (error: Error) => void
  private asked = 0
  private timer: Timer | undefined

  constructor(timers: Timers, ms: number, giveUp: (error: Error) => void) {
    this.timers = timers
    this.ms = ms
    this.giveUp = giveUp
  }

  /** Something is asked, whose answers come in their order. */
  async until<T>(answer: Promise<T>): Promise<T> {
    this.asked += 1
    if (this.asked === 1) this.begin()
    try {
      return await answer
    } finally {
      this.timer?.cancel()
      this.asked -= 1
      if (this.asked > 0) this.begin()
    }
  }

  private begin(): void {
    const { ms } = this
    this.timer = this.timers.after(ms, () =>
      this.giveUp(new Error(`the connection was given up: the server said nothing for ${ms} ms`)),
    )
  }
}
