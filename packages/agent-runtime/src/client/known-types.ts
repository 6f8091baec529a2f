import { instead, invalid, RESERVED, show } from '@ku0/agent-runtime-core'
import type { ExchangeTerms } from '../terms/exchange.ts'
import { type TaskTerms, taskTermsOf } from '../terms/task-definition.ts'

/** The task types that a process knows, and whether it submits tasks of other types. */
export class KnownTypes {
  readonly #types: ReadonlyMap<string, TaskTerms>
  readonly #others: 'refused' | 'taken'
  /** The terms of contracts and definitions that came with submissions. */
  readonly #given = new WeakMap<object, TaskTerms>()
  /** The types that declare signals, approvals or emits; of contracts that came with submissions the last of each name. */
  readonly #exchanges: Map<string, ExchangeTerms>

  constructor(types: ReadonlyMap<string, TaskTerms>, others: 'refused' | 'taken') {
    this.#types = types
    this.#others = others
    this.#exchanges = new Map([...types].filter(([, terms]) => declares(terms)))
  }

  /** Whether any known type declares something of this kind. Where none does, no task's type is looked up. */
  anyWith(kind: 'signals' | 'approvals' | 'emits'): boolean {
    for (const terms of this.#exchanges.values()) if (terms[kind] !== undefined) return true
    return false
  }

  /** Those that the process was given. */
  get given(): Iterable<TaskTerms> {
    return this.#types.values()
  }

  /** What a type declares of signals, approvals and emits; undefined for a type that declares none, or that is not known. */
  exchangeOf(type: string): ExchangeTerms | undefined {
    return this.#exchanges.get(type)
  }

  /**
   * The terms of a type. If other types are refused, only what the process was given under this name counts,
   * and nothing else of `task` is read. Undefined for a type of which only the name is known. Throws
   * `invalid_argument` for a value that is not a task type.
   */
  find(type: string, task: unknown): TaskTerms | undefined {
    const known = this.#types.get(type)
    if (known !== undefined || this.#others === 'refused' || typeof task !== 'object' || task === null)
      return known
    const seen = this.#given.get(task)
    if (seen !== undefined) return seen
    const terms = taskTermsOf(task)
    if (terms === undefined)
      throw invalid(`task '${type}': what defineTask or defineContract returns; given ${show(task)}`)
    this.#given.set(task, terms)
    if (declares(terms)) this.#exchanges.set(type, terms)
    return terms
  }

  /**
   * Why a type of which only the name is known is not submitted, for people. Undefined if it is submitted.
   */
  refusalOf(type: string, quoted = show(type)): string | undefined {
    if (this.#others === 'taken' && !type.startsWith(RESERVED)) return undefined
    const known = [...this.#types.keys()].filter((name) => !name.startsWith(RESERVED))
    const expected = known.length === 0 ? '; this process defines no task types' : instead(type, known)
    return `no task of the type ${quoted} is defined here${expected}`
  }
}

function declares({ signals, approvals, emits }: ExchangeTerms): boolean {
  return signals !== undefined || approvals !== undefined || emits !== undefined
}
