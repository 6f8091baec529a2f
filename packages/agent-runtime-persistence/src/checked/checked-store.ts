import {
  type ExecutionStore,
  type Interest,
  invalid,
  type Read,
  type ReadKind,
  type Reads,
  show,
  type StoreListener,
  meantText,
  type Write,
  type WriteKind,
  type Writes,
} from '@ku0/agent-runtime-core'
import type { z } from 'zod'
import { parseGiven as parse } from './parse-given.ts'
import { contradictionIn, demand, interest, operations, queries } from './port-schema.ts'

/**
 * A store that takes nothing but what its port says: whatever else it is asked is refused with `invalid_argument`, which names each field
 * that is wrong, before the store hears of it.
 */
export class CheckedStore implements ExecutionStore {
  private readonly inner: ExecutionStore

  constructor(inner: ExecutionStore) {
    this.inner = inner
  }

  get info(): ExecutionStore['info'] {
    return this.inner.info
  }

  write<K extends WriteKind>(operation: Write<K>): Promise<Writes[K]['outcome']> {
    return asked(() => this.inner.write<K>(checkedWrite(operation)))
  }

  read<K extends ReadKind>(query: Read<K>): Promise<Reads[K]['answer']> {
    return asked(() => this.inner.read<K>(checkedRead(query)))
  }

  demand(workerId: string, credit: number): void {
    parse('demand', demand, { workerId, credit })
    this.inner.demand(workerId, credit)
  }

  interest(given: Interest): void {
    this.inner.interest(parse('interest', interest, given) as Interest)
  }

  listen(listener: StoreListener): Disposable {
    if (typeof listener !== 'object' || listener === null)
      throw invalid(`listen: an object with functions; given ${show(listener)}`)
    return this.inner.listen(listener)
  }

  mayHaveSlept(): boolean {
    return this.inner.mayHaveSlept()
  }

  timesSlept(): number {
    return this.inner.timesSlept()
  }

  close(): Promise<void> {
    return this.inner.close()
  }
}

/** A write that is what the port says; throws `invalid_argument` for any other. */
export function checkedWrite<K extends WriteKind>(given: Write<K>): Write<K> {
  const checked = ofKind('write', operations, given) as Write<K>
  const contradiction = contradictionIn(checked as Write)
  if (contradiction !== undefined) throw invalid(`write ${checked.kind} ${contradiction}`)
  return checked
}

/** A question that is what the port says; throws `invalid_argument` for any other. */
export function checkedRead<K extends ReadKind>(given: Read<K>): Read<K> {
  return ofKind('read', queries, given) as Read<K>
}

/** Refuses by a promise, as the store itself does, and answers no turn later than it. */
function asked<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call()
  } catch (error) {
    return Promise.reject(error)
  }
}

function ofKind(call: string, schemas: ReadonlyMap<unknown, z.ZodType>, given: unknown): unknown {
  const kind = kindOf(given)
  const schema = schemas.get(kind)
  if (schema !== undefined) return parse(`${call} ${String(kind)}`, schema, given)
  const known = [...schemas.keys()].map(String)
  const meant = typeof kind === 'string' ? meantText(kind, known) : ''
  throw invalid(
    `${call}: an object whose kind is one that the store knows; given ${show(kind === undefined ? given : { kind })}${meant}`,
  )
}

function kindOf(given: unknown): unknown {
  try {
    return (given as { kind?: unknown } | null | undefined)?.kind
  } catch {
    return undefined
  }
}
