/** What a process did with one task, and what it was answered. Without an answer nobody knows whether, or when, it took effect. */
export type Deed =
  /** `by` an idempotency key, which may be given again, or an id of the caller's own, which may not. */
  | Asked<'submit', { readonly by: 'key' | 'id'; readonly input: string }, 'accepted' | 'again' | 'refused'>
  | Asked<'status', object, Sight>
  /** Waits for the end. */
  | Asked<'result', object, End>
  | Asked<'cancel', object, boolean>
  | Asked<'signal', { readonly value: string }, boolean>
  /** A lease, as its holder or the store tells of it. `attempt` rises when the lease before ended by a crash. */
  | Asked<'claim', { readonly token: number; readonly attempt: number }, 'given'>
  /** A lease that the store took away. */
  | Asked<'lapse', { readonly token: number }, 'taken'>
  /** The answer is the memo that the key has from then on. */
  | Asked<
      'step',
      Held & { readonly key: string; readonly value: string },
      'stale' | { readonly memo: string }
    >
  /** What the steps recorded, by key. */
  | Asked<'memos', object, Readonly<Record<string, string>>>
  | Asked<'settle', Held & { readonly end: End }, 'ok' | 'stale'>
  /** Gives the lease back: the task waits, or is queued again. `kept`: there was no need to. */
  | Asked<'rest', Held, 'ok' | 'kept' | 'stale'>
  /** A signal that the handler was given; another pass is given the same under the same key. */
  | Asked<'take', { readonly key: string }, { readonly value: string }>

interface Held {
  readonly token: number
}
type Asked<Call, Fields, Answer> = { readonly call: Call; readonly answer?: Answer } & Readonly<Fields>

/** A final state, and what belongs to it. */
export type End =
  | { readonly state: 'completed'; readonly output: string }
  | { readonly state: 'canceled' | 'failed' }

/** A task as somebody saw it. */
export type Sight =
  | { readonly state: 'absent' }
  | { readonly state: 'open'; readonly attempt: number; readonly steps: number }
  | {
      readonly state: 'running'
      readonly attempt: number
      readonly steps: number
      readonly token: number
    }
  | (End & { readonly attempt: number; readonly steps: number })

/** A deed with its time: ms of a clock that all processes of the machine share. `returnedAt` is there when an answer is. */
export interface Operation {
  readonly process: string
  readonly taskId: string
  readonly invokedAt: number
  readonly returnedAt?: number
  readonly deed: Deed
}
