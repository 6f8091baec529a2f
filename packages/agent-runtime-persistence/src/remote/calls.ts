import type { UpMessage } from './protocol.ts'

export type CallMessage = Extract<UpMessage, { readonly call: number }>

/** A call whose answer has not come. */
interface Open {
  readonly message: CallMessage
  /** As it travels: it is made once, for its size and for the frame. */
  readonly text: string
  readonly bytes: number
  /** On the monotonic clock. */
  readonly askedAt: number
  wasSent: boolean
}

/** A message as JSON, with its length in bytes. */
export interface Sized {
  readonly text: string
  readonly bytes: number
}

/** A message as it travels. */
export function sized(message: UpMessage): Sized {
  const text = JSON.stringify(message)
  return { text, bytes: Buffer.byteLength(text) }
}

/** The calls of a line, in their order: those that wait to be sent, and those that wait for their answers. */
export class Calls {
  private readonly open = new Map<number, Open>()
  private readonly queue = new Set<number>()
  private last = 0

  get size(): number {
    return this.open.size
  }

  add(message: CallMessage, { text, bytes }: Sized, askedAt: number): void {
    this.open.set(message.call, { message, text, bytes, askedAt, wasSent: false })
    this.queue.add(message.call)
    this.last = Math.max(this.last, message.call)
  }

  /** Forgets a call, and gives it. */
  take(call: number): CallMessage | undefined {
    const found = this.open.get(call)
    this.open.delete(call)
    this.queue.delete(call)
    return found?.message
  }

  /** All calls up to this one are answered. */
  get acked(): number {
    for (const call of this.open.keys()) if (call > 0) return call - 1
    return this.last
  }

  /** The next call to send, while fewer than `most` wait for answers. */
  next(most: number): Sized | undefined {
    if (this.open.size - this.queue.size >= most) return undefined
    for (const call of this.queue) {
      this.queue.delete(call)
      const open = this.open.get(call)
      if (open === undefined) continue
      const { message, text, bytes, wasSent } = open
      open.wasSent = true
      return wasSent && message.to === 'write' ? sized({ ...message, again: true }) : { text, bytes }
    }
    return undefined
  }

  /** The connection is lost: all that is unanswered is sent again, in the old order. */
  cut(): void {
    this.queue.clear()
    for (const call of this.open.keys()) this.queue.add(call)
  }

  /** Whether a write under a lease waits for its answer, which will say how the lease stands. */
  isAbout(leaseId: string): boolean {
    for (const { message } of this.open.values())
      if (message.to === 'write' && 'leaseId' in message.operation && message.operation.leaseId === leaseId)
        return true
    return false
  }

  /** Questions, and writes that never left: what came of them is known, since nothing has. */
  undone(before: number): readonly number[] {
    return [...this.open].flatMap(([call, { message, askedAt, wasSent }]) =>
      askedAt < before && (message.to === 'read' || !wasSent) ? [call] : [],
    )
  }
}
