import type { Call } from '../scenario/call.ts'

/** What a host saw, dated by its wall clock in ms with fractions. Tasks are named by their store's id. */
export type Note =
  | SubmittedNote
  | CalledNote
  /** A handler was entered. */
  | {
      readonly kind: 'entered'
      readonly taskId: string
      readonly n: number
      readonly attempt: number
      readonly token: number
      readonly at: number
    }
  /** A handler stays at a gate, or its tool is running. */
  | {
      readonly kind: 'holding'
      readonly taskId: string
      readonly n: number
      readonly token: number
      readonly gate: string
      readonly at: number
    }
  /** A task was parked for a budget. */
  | { readonly kind: 'parked'; readonly taskId: string; readonly at: number }
  /** A handler's signal was aborted. */
  | {
      readonly kind: 'aborted'
      readonly taskId: string
      readonly token: number
      readonly at: number
      readonly why: string
    }
  /** A handler returned or threw. */
  | {
      readonly kind: 'left'
      readonly taskId: string
      readonly n: number
      readonly token: number
      readonly at: number
      readonly how: 'returned' | 'threw' | 'put aside'
      readonly error?: string
    }

/** One call of `submit`, from the call to its answer. */
export interface SubmittedNote {
  readonly kind: 'submitted'
  readonly n: number
  readonly at: number
  readonly answeredAt: number
  readonly accepted: boolean
  readonly taskId?: string
  readonly reason?: string
  readonly deduplicated?: boolean
  /** The queue depth the store reported just before, of a probe. */
  readonly depth?: number
}

/** One call of the runtime besides submitting, and its answer. */
export interface CalledNote {
  readonly kind: 'called'
  readonly call: Call['call']
  /** The route, swarm or agent that it was about. */
  readonly of: string
  readonly outcome: string
  readonly at: number
  /** The task of the lease. */
  readonly taskId?: string
  /** Of a route its scar, of a judgement the reputation, of a drift its change. */
  readonly value?: number
  /** Of a judgement. */
  readonly seq?: number
}

/** Collects notes and hands them over in batches, so that noting costs the work as little as possible. */
export interface Notebook {
  add(note: Note): void
  flush(): void
  /** Hands over what is left, and stops. */
  close(): void
}

/** A notebook that hands over every `everyMs` while there is something. */
export function openNotebook(handOver: (notes: readonly Note[]) => void, everyMs = 10): Notebook {
  let pending: Note[] = []
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (pending.length === 0) return
    const notes = pending
    pending = []
    handOver(notes)
  }
  return {
    add(note) {
      pending.push(note)
      timer ??= setTimeout(flush, everyMs)
    },
    flush,
    close: flush,
  }
}

/** Epoch ms with fractions. Comparable between the processes of one machine. */
export function wallNow(): number {
  return performance.timeOrigin + performance.now()
}
