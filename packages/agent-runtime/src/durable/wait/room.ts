import type { Host } from '../host.ts'
import type { Memos } from '../pass/memos.ts'
import type { Waits } from './waits.ts'
import { retriesBefore, retryKey } from '../step/retry.ts'
import type { Scope } from '../pass/scope.ts'

/** A child that has to be submitted, and waits while the store is full. */
export interface Seeker {
  readonly key: string
  readonly position: number
  readonly scope: Scope
  /** Sends it to the store. Its queue is told the result: `accepted`, `refused` or `gone`. */
  seek(): void
  refuse(reason: unknown): void
}

/** What the queues need from their pass. */
export interface RoomPass {
  readonly attempt: Host
  readonly memos: Memos
  readonly waits: Waits
}

/** The queues of one pass. A refusal of one type in one lane does not affect the others. */
export class Rooms {
  readonly #pass: RoomPass
  readonly #rooms = new Map<string, Room>()

  constructor(pass: RoomPass) {
    this.#pass = pass
  }

  of(kind: string): Room {
    let room = this.#rooms.get(kind)
    if (room === undefined) this.#rooms.set(kind, (room = new Room(this.#pass)))
    return room
  }

  /** A child has ended: there may be room. */
  tryAgain(): void {
    for (const room of this.#rooms.values()) room.tryAgain()
  }
}

/**
 * The children of one pass that find the store full wait in a queue, in the order of their calls, behind one
 * wait: that of the first. It is a wait of the task, so that the task holds no slot, which the queue may
 * need. When it ends, and whenever a child has ended meanwhile, the first child tries again. As long as there
 * is room, those behind it follow, twice as many each time. Source: `docs/semantics.md 5.5`.
 */
export class Room {
  readonly #pass: RoomPass
  readonly #orders = new Map<Seeker, number>()
  /**
   * How often each was the first in the queue when the store was full: the number of its ended waits, by key.
   */
  readonly #refusals = new Map<string, number>()
  /** Waits that may be open in the store. */
  readonly #asked = new Set<string>()
  #line: Seeker[] = []
  /** Children that were sent and not yet answered. */
  readonly #trying = new Set<Seeker>()
  #batch = 1
  /** One of those that were sent together was refused. */
  #isFull = false
  /** True if new calls have to queue. */
  #isClosed = false
  /** The first in the queue, with the key of its wait. */
  #waiting: { readonly seeker: Seeker; readonly key: string } | undefined
  #calls = 0

  constructor(pass: RoomPass) {
    this.#pass = pass
  }

  /** If an earlier pass ended because the store was full, this one begins with a try of the first child. */
  enter(seeker: Seeker): void {
    this.#orders.set(seeker, this.#calls++)
    const wasRefused = this.#refusalsOf(seeker) > 0 || this.openWait(seeker) !== undefined
    if (!this.#isClosed) {
      this.#isClosed = wasRefused
      return this.#try(seeker)
    }
    this.#line.push(seeker)
  }

  accepted(seeker: Seeker): void {
    this.#orders.delete(seeker)
    this.#tried(seeker)
  }

  refused(seeker: Seeker): void {
    this.#isClosed = true
    this.#isFull = true
    this.#line.push(seeker)
    this.#tried(seeker)
  }

  /** It has ended without having been submitted. */
  gone(seeker: Seeker): void {
    if (!this.#orders.delete(seeker)) return
    this.#line = this.#line.filter((other) => other !== seeker)
    if (this.#waiting?.seeker === seeker) this.#stopWaiting()
    this.#tried(seeker)
  }

  tryAgain(): void {
    if (this.#waiting === undefined) return
    this.#stopWaiting()
    this.#next()
  }

  /** The key of the wait that a child has left open, in this pass or an earlier one. */
  openWait(seeker: Seeker): string | undefined {
    const key = retryKey(seeker.key, this.#refusalsOf(seeker) + 1)
    return this.#asked.has(key) || this.#pass.memos.open.has(key) ? key : undefined
  }

  #tried(seeker: Seeker): void {
    this.#trying.delete(seeker)
    if (this.#trying.size > 0 || this.#waiting !== undefined) return
    if (this.#line.length === 0) {
      this.#isClosed = false
      this.#isFull = false
      this.#batch = 1
    } else if (this.#isFull) this.#wait()
    else {
      this.#batch *= 2
      this.#next()
    }
  }

  #next(): void {
    const { closedBy } = this.#pass.attempt
    if (closedBy !== undefined) return this.#refuse(this.#line, closedBy)
    for (const seeker of this.#line.splice(0, this.#batch)) this.#try(seeker)
  }

  #try(seeker: Seeker): void {
    this.#trying.add(seeker)
    seeker.seek()
  }

  #wait(): void {
    this.#isFull = false
    this.#batch = 1
    this.#line.sort((a, b) => (this.#orders.get(a) ?? 0) - (this.#orders.get(b) ?? 0))
    const [seeker] = this.#line
    if (seeker === undefined) return
    const { closedBy } = seeker.scope
    if (closedBy !== undefined) return seeker.refuse(closedBy)
    const { key, position, scope } = seeker
    const refusals = this.#refusalsOf(seeker)
    const waitKey = retryKey(key, refusals + 1)
    this.#waiting = { seeker, key: waitKey }
    this.#asked.add(waitKey)
    try {
      this.#pass.waits.add({
        request: { key: waitKey, position, kind: 'timer', delayMs: roomDelay(refusals) },
        scope,
        over: () => {
          this.#waiting = undefined
          this.#refusals.set(key, refusals + 1)
          this.#next()
        },
        refuse: (reason) => this.#refuse([seeker], reason),
      })
    } catch (error) {
      this.#refuse([seeker], error)
    }
  }

  /** What ends the pass refuses all of them. */
  #refuse(seekers: readonly Seeker[], reason: unknown): void {
    const isOver = this.#pass.attempt.closedBy !== undefined
    for (const seeker of isOver ? this.#line.splice(0) : seekers) seeker.refuse(reason)
  }

  #stopWaiting(): void {
    if (this.#waiting !== undefined) this.#pass.waits.forget(this.#waiting.key)
    this.#waiting = undefined
  }

  #refusalsOf({ key }: Seeker): number {
    let refusals = this.#refusals.get(key) ?? retriesBefore(this.#pass.memos, key).retries
    while (this.#pass.waits.early(retryKey(key, refusals + 1)) !== undefined) refusals += 1
    this.#refusals.set(key, refusals)
    return refusals
  }
}

/** How long to wait for room after this number of refusals, in ms. */
export function roomDelay(refusals: number): number {
  return Math.min(MAX_ROOM_MS, MIN_ROOM_MS * 2 ** Math.min(refusals, 10))
}

const MIN_ROOM_MS = 100
const MAX_ROOM_MS = 30_000
