import {
  type ExecutionStore,
  invalid,
  isList,
  isName,
  nameRule,
  type ConfigProblem,
  type ExecutionConfig,
  RuntimeError,
  show,
} from '@ku0/agent-runtime-core'
import type { Agreement, Agreements } from '../api/agreements.ts'
import { isAgreement } from '../terms/agreement.ts'

/** The agreements of a process by name, and those whose clients have their tier. */
export class AgreementBook implements Agreements {
  readonly #named: ReadonlyMap<string, Agreement>
  readonly #store: ExecutionStore
  readonly #assertOpen: () => void
  readonly #kept = new WeakSet<Agreement>()

  constructor(
    agreements: readonly Agreement[],
    { store, assertOpen }: { readonly store: ExecutionStore; readonly assertOpen: () => void },
  ) {
    const sorted = agreements.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    this.#named = new Map(sorted.map((it) => [it.name, it]))
    this.#store = store
    this.#assertOpen = assertOpen
  }

  async list(): Promise<readonly Agreement[]> {
    this.#assertOpen()
    return [...this.#named.values()]
  }

  async get(name: string): Promise<Agreement | undefined> {
    this.#assertOpen()
    if (!isName(name)) throw invalid(`agreements.get: a name of ${nameRule[0]}; given ${show(name)}`)
    return this.#named.get(name)
  }

  /** The agreement that a call means. Throws for a name that no agreement has. */
  resolve(given: Agreement | string, call: string): Agreement {
    if (typeof given !== 'string') return given
    const found = this.#named.get(given)
    if (found !== undefined) return found
    const names = [...this.#named.keys()].map((name) => show(name))
    const known = names.length === 0 ? 'this process was given none' : `there are ${names.join(', ')}`
    throw new RuntimeError(
      'invalid_argument',
      `${call} option agreement: there is no agreement ${show(given)}, ${known}; pass what defineAgreement returns as agreements to createRuntime or createClient`,
      { details: { agreement: given } },
    )
  }

  /** The client of an agreement gets its tier before the first task comes under it. */
  async keep(agreement: Agreement): Promise<void> {
    const { client, tier } = agreement
    if (tier === undefined || this.#kept.has(agreement)) return
    const outcome = await this.#store.write({ kind: 'putClient', name: client, tier })
    if (outcome.as === 'full')
      throw new RuntimeError(
        'limit_exceeded',
        `the client ${show(client)} of the agreement ${show(agreement.name)} is one too many: the limit maxClients is reached; remove a client first`,
        { details: { client } },
      )
    this.#kept.add(agreement)
  }
}

/** The problems with the option `agreements`. */
export function agreementProblems(given: unknown): readonly ConfigProblem[] {
  if (given === undefined) return []
  const allowed = 'a list of what defineAgreement returns, no two of one name'
  if (!isList(given)) return [{ path: 'agreements', allowed, given }]
  const names = new Set<string>()
  return given.flatMap((it: unknown, index): ConfigProblem[] => {
    if (!isAgreement(it))
      return [{ path: `agreements[${index}]`, allowed: 'what defineAgreement returns', given: it }]
    if (names.has(it.name))
      return [
        { path: `agreements[${index}].name`, allowed: 'the name of no other agreement', given: it.name },
      ]
    names.add(it.name)
    return []
  })
}

/** Agreements that say what happens without credits, in a process that keeps none. Source: `docs/credits.md`. */
export function creditProblems(
  agreements: readonly Agreement[] = [],
  { shares }: Pick<ExecutionConfig, 'shares'>,
): readonly ConfigProblem[] {
  if (shares?.ledger === true) return []
  return agreements.flatMap(({ name, outOfCredits = 'run' }, index): ConfigProblem[] => {
    if (outOfCredits === 'run') return []
    const allowed = `'run' or left out in the agreement ${show(name)}, because no credits are kept; config.shares: { ledger: true } keeps them`
    return [{ path: `agreements[${index}].outOfCredits`, allowed, given: outOfCredits }]
  })
}
