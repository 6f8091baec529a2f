import type { Message } from '../engine/message.ts'

/** So many calls cross without waiting for more: the store works on them while the process goes on. */
const fullMessage = 256

/**
 * What waits to cross to a store's thread. It crosses as one text, which is cloned in a third of the time that its objects take. Of several
 * statements of a worker's demand the last stands, since each is a total that replaces the one before.
 */
export class Outbox {
  private waiting: (Message | undefined)[] = []
  private calls = 0
  /** By worker: where the last statement of its demand stands. */
  private readonly demands = new Map<string, number>()

  get isEmpty(): boolean {
    return this.waiting.length === 0
  }

  /** Whether it has as many calls as cross at once. */
  get isFull(): boolean {
    return this.calls === fullMessage
  }

  put(given: Message): void {
    let message = given
    if (message.to === 'demand') {
      const place = this.demands.get(message.workerId)
      const before = place === undefined ? undefined : this.waiting[place]
      // How many it was given is said once, when a line comes back.
      if (before?.to === 'demand' && before.given !== undefined && message.given === undefined)
        message = { ...message, given: before.given }
      if (place !== undefined) this.waiting[place] = undefined
      this.demands.set(message.workerId, this.waiting.length)
    } else if (message.to === 'absent') this.demands.clear()
    else this.calls += 1
    this.waiting.push(message)
  }

  /** All that was put since the last time, as one text. */
  take(): string {
    const text = JSON.stringify(this.waiting.filter((message) => message !== undefined))
    this.waiting = []
    this.calls = 0
    this.demands.clear()
    return text
  }
}

/** What {@link Outbox.take} took. */
export function messagesIn(text: string): readonly Message[] {
  return JSON.parse(text) as readonly Message[]
}
