import type { Claim, LeaseNotice, OutputChunk, StoredEvent, WorkerDrain } from '@ku0/agent-runtime-core'
import { later } from '../system.ts'

interface Draft {
  answers: (
    | { readonly call: number; readonly value: unknown }
    | { readonly call: number; readonly error: Error }
  )[]
  claims: Claim[]
  notices: LeaseNotice[]
  events: StoredEvent[]
  chunks: OutputChunk[]
  schedulesDue: boolean
  drains?: WorkerDrain[]
}

/** Gathers what one turn has to say to a process, and hands it over as one. */
export class TurnBox {
  turn: Draft = empty()
  readonly #send: (turn: Draft) => void
  #isOpen = false
  #isDue = false

  constructor(send: (turn: Draft) => void) {
    this.#send = send
  }

  /** From now on it is handed over. */
  open(): void {
    this.#isOpen = true
    this.#flush()
  }

  /** Something was put in. */
  post(): void {
    if (this.#isDue || !this.#isOpen) return
    this.#isDue = true
    later(() => {
      this.#isDue = false
      this.#flush()
    })
  }

  #flush(): void {
    const { turn } = this
    this.turn = empty()
    this.#send(turn)
  }
}

function empty(): Draft {
  return { answers: [], claims: [], notices: [], events: [], chunks: [], schedulesDue: false }
}
