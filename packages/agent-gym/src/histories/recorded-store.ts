import type {
  Claim,
  ExecutionStore,
  Interest,
  Read,
  ReadKind,
  Reads,
  StoreListener,
  Write,
  WriteKind,
  Writes,
} from '@ku0/agent-runtime-core'
import type { Deed } from './operation.ts'
import { now, type Recorder } from './recorder.ts'

/** A store that records what a holder asks of it: claims, steps, settlements, waits. What clients ask is theirs to record. */
export class RecordedStore implements ExecutionStore {
  readonly #store: ExecutionStore
  readonly #recorder: Recorder
  /** Nothing was handed over before. */
  readonly #openedAt = now()
  readonly #claims = new Map<string, Claim>()

  constructor(store: ExecutionStore, recorder: Recorder) {
    this.#store = store
    this.#recorder = recorder
    store.listen({ claimed: (claims) => this.#claimed(claims) })
  }

  get info(): ExecutionStore['info'] {
    return this.#store.info
  }

  write<K extends WriteKind>(operation: Write<K>): Promise<Writes[K]['outcome']> {
    const deed = this.#deedOf(operation as Write)
    if (deed === undefined) return this.#store.write(operation)
    return this.#recorder.record(
      { taskId: deed.taskId },
      deed.asked,
      () => this.#store.write(operation),
      (outcome) => deed.answerOf(outcome),
    )
  }

  read<K extends ReadKind>(query: Read<K>): Promise<Reads[K]['answer']> {
    if (query.kind !== 'memos') return this.#store.read(query)
    const { taskId } = query as Read<'memos'>
    return this.#recorder.record(
      { taskId },
      { call: 'memos' },
      () => this.#store.read(query),
      (answer) =>
        Object.fromEntries(
          (answer as Reads['memos']['answer']).steps.map(({ key, result }) => [key, result]),
        ),
    )
  }

  demand(workerId: string, credit: number): void {
    this.#store.demand(workerId, credit)
  }

  interest(interest: Interest): void {
    this.#store.interest(interest)
  }

  listen(listener: StoreListener): Disposable {
    return this.#store.listen(listener)
  }

  mayHaveSlept(): boolean {
    return this.#store.mayHaveSlept()
  }

  timesSlept(): number {
    return this.#store.timesSlept()
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  #claimed(claims: readonly Claim[]): void {
    for (const claim of claims) {
      const { taskId, leaseId, fencingToken: token, attempt } = claim
      this.#claims.set(leaseId, claim)
      const n = this.#recorder.called({ taskId }, { call: 'claim', token, attempt }, this.#openedAt)
      this.#recorder.answered(n, 'given')
    }
  }

  /** What a write is to the task whose lease it names; undefined for what is not a holder's. */
  #deedOf(
    operation: Write,
  ):
    | { readonly taskId: string; readonly asked: Deed; readonly answerOf: (outcome: unknown) => unknown }
    | undefined {
    const claim = 'leaseId' in operation ? this.#claims.get(operation.leaseId) : undefined
    if (claim === undefined) return undefined
    const { taskId, fencingToken: token } = claim
    switch (operation.kind) {
      case 'recordStep':
        return {
          taskId,
          asked: { call: 'step', token, key: operation.key, value: operation.result },
          answerOf: (outcome) => {
            const it = outcome as Writes['recordStep']['outcome']
            return it.fenced === 'stale' ? 'stale' : { memo: it.memo ?? operation.result }
          },
        }
      case 'settle': {
        const { settlement } = operation
        if (settlement.as !== 'completed' && settlement.as !== 'failed') return undefined
        const end =
          settlement.as === 'completed'
            ? ({ state: 'completed', output: settlement.output } as const)
            : ({ state: 'failed' } as const)
        return { taskId, asked: { call: 'settle', token, end }, answerOf: (outcome) => outcome }
      }
      case 'release':
        return { taskId, asked: { call: 'rest', token }, answerOf: (outcome) => outcome }
      case 'suspend':
        return {
          taskId,
          asked: { call: 'rest', token },
          answerOf: (outcome) => {
            const it = outcome as Writes['suspend']['outcome']
            return it.fenced === 'stale' ? 'stale' : it.suspended ? 'ok' : 'kept'
          },
        }
      default:
        return undefined
    }
  }
}
