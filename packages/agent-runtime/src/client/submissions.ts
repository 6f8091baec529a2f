import {
  assertOptions,
  budgetTerms,
  type BudgetTerms,
  describeError,
  type ExecutionConfig,
  type ExecutionStore,
  invalid,
  isList,
  isName,
  isRecord,
  LATENCY_LABEL,
  nameRule,
  problemsIn,
  type Receipt,
  RESERVED,
  type Rules,
  RuntimeError,
  show,
  type Submission,
  type Lane,
  type ValueCodec,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import { familiarToSubmission } from '../terms/familiar-names.ts'
import { submitRules } from '../terms/submit-rules.ts'
import type { Agreement } from '../api/agreements.ts'
import type { SubmitItem, SubmitOptions } from '../api/submissions.ts'
import { check, describeIssues } from '../terms/schema.ts'
import type { TaskTerms } from '../terms/task-definition.ts'
import type { LogLine } from '../api/logger.ts'
import type { TypeWatch } from '../terms/type-watch.ts'
import type { KnownTypes } from './known-types.ts'
import type { AgreementBook } from './agreements.ts'
import { watchQuotaNames } from './unlimited-names.ts'

/**
 * The entry point of submissions: finds the task type, checks the input with its schema, encodes the given
 * input and passes it to the store. A wrong submission becomes a recorded rejection; a wrong call throws.
 * Source: Track AA, Queue Classification; `docs/semantics.md 1.5, 2.1, 8.8`.
 */
export class Submissions {
  readonly #store: ExecutionStore
  readonly #types: KnownTypes
  readonly #maxBytes: number
  readonly #values: ValueCodec
  readonly #trace: () => Readonly<Record<string, string>> | undefined
  readonly #assertOpen: () => void
  readonly #watch: Pick<TypeWatch, 'lookAgain'> | undefined
  readonly #agreements: AgreementBook
  readonly #watchNames: ReturnType<typeof watchQuotaNames>

  constructor(deps: {
    readonly store: ExecutionStore
    readonly types: KnownTypes
    readonly agreements: AgreementBook
    readonly config: ExecutionConfig
    readonly values: ValueCodec
    readonly log: LogLine
    /** The caller's trace context. Source: `docs/semantics.md 16.2`. */
    readonly trace: () => Readonly<Record<string, string>> | undefined
    /** Throws if the runtime takes no more submissions. */
    readonly assertOpen: () => void
    /** Compares the task types with those of workers every now and then. */
    readonly watch?: Pick<TypeWatch, 'lookAgain'>
  }) {
    this.#watch = deps.watch
    this.#store = deps.store
    this.#types = deps.types
    this.#agreements = deps.agreements
    this.#maxBytes = deps.config.maxPayloadBytes
    this.#values = deps.values
    this.#watchNames = watchQuotaNames(deps.config, deps.log)
    this.#trace = deps.trace
    this.#assertOpen = deps.assertOpen
  }

  async submit(item: SubmitItem): Promise<Receipt> {
    const [receipt] = await this.#submitAll([item], () => '')
    if (receipt === undefined) throw new RuntimeError('internal', 'the store gave no receipt')
    return receipt
  }

  /** One commit for all; the receipts are in the order of the items. An error names its item. */
  async submitMany(items: unknown): Promise<readonly Receipt[]> {
    this.#assertOpen()
    if (!isList(items)) throw invalid(`submitMany: a list of { task, input, options }; given ${show(items)}`)
    const checked = Array.from(items, (item: unknown, index) => itemOf(item, `item ${index}`))
    return this.#submitAll(checked, (index) => `item ${index}: `)
  }

  /**
   * A submission as it would be passed to the store; a problem with it is in `refused`. Messages begin with
   * `place`.
   */
  async prepare(item: SubmitItem, place: string): Promise<Submission> {
    return this.#prepare(item, place, (type, resolved) => this.#unknown(type, resolved))
  }

  /**
   * A submission by a handler. The nodes of a graph were checked when the graph was submitted: a process that
   * coordinates a graph, with a task type of the runtime's own, need not define their types.
   */
  prepareChild(item: SubmitItem, call: string, parentType: string): Submission | Promise<Submission> {
    return this.#prepare(item, call, (type, resolved) =>
      parentType.startsWith(RESERVED) ? this.#unchecked(type, resolved) : this.#unknown(type, resolved),
    )
  }

  /** Runs in the turn of the call, unless a schema is asynchronous. `placeOf` names the item in errors. */
  async #submitAll(
    items: readonly SubmitItem[],
    placeOf: (index: number) => string,
  ): Promise<readonly Receipt[]> {
    this.#assertOpen()
    const tasks: Submission[] = []
    for (const [index, item] of items.entries()) {
      const prepared = this.#prepare(item, `${placeOf(index)}submit`, (type, resolved) =>
        this.#unknown(type, resolved),
      )
      tasks.push(prepared instanceof Promise ? await prepared : prepared)
    }
    for (const [index, { options }] of items.entries())
      if (options?.agreement !== undefined) await this.#keep(options, `${placeOf(index)}submit`)
    this.#assertOpen()
    this.#watch?.lookAgain()
    return tasks.length === 0 ? [] : this.#store.write({ kind: 'submit', tasks })
  }

  /** The same for a task that is submitted later: the client of its agreement gets its tier now. */
  async prepareLater(item: SubmitItem, place: string): Promise<Submission> {
    const prepared = await this.prepare(item, place)
    await this.#keep(item.options, place)
    return prepared
  }

  /** A submission whose input no schema here checks, for later. */
  async uncheckedLater(type: string, item: SubmitItem, place: string): Promise<Submission> {
    const prepared = this.#unchecked(type, this.#resolved(item, place, type))
    await this.#keep(item.options, place)
    return prepared
  }

  /** The agreement that options name. */
  agreementOf(options: Pick<SubmitOptions, 'agreement'> | undefined, call: string): Agreement | undefined {
    const given = options?.agreement
    return given === undefined ? undefined : this.#agreements.resolve(given, call)
  }

  async #keep(options: SubmitOptions | undefined, call: string): Promise<void> {
    const agreement = this.agreementOf(options, call)
    if (agreement !== undefined) await this.#agreements.keep(agreement)
  }

  /** The item with its agreement in place of the name of it. */
  #resolved(item: SubmitItem, call: string, type: string): ResolvedItem {
    const { options } = item
    if (options?.agreement === undefined) return item as ResolvedItem
    const agreement = this.agreementOf(options, call) as Agreement
    const { client } = options
    if (client !== undefined && client !== agreement.client)
      throw invalid(
        `${call} options agreement and client: the agreement ${show(agreement.name)} is with ${show(agreement.client)}; given ${show(client)}`,
      )
    const { agents } = agreement
    if (agents !== undefined && !agents.includes(type))
      throw invalid(
        `${call} option agreement: the agreement ${show(agreement.name)} is for ${agents.map((name) => show(name)).join(', ')}; given ${show(type)}`,
      )
    return { ...item, options: { ...options, agreement } }
  }

  #prepare(
    item: SubmitItem,
    call: string,
    unknown: (type: string, item: ResolvedItem) => Submission,
  ): Submission | Promise<Submission> {
    const { task, input } = item
    const type: unknown = typeof task === 'string' ? task : typeOf(task)
    if (!isName(type)) {
      throw invalid(
        `${call}: what defineTask or defineContract returns, or a task type of ${nameRule[0]}; given ${show(task)}`,
      )
    }
    checkOptions(item.options, call)
    const resolved = this.#resolved(item, call, type)
    const { options } = resolved
    const terms = this.#types.find(type, task)
    if (terms === undefined) return unknown(type, resolved)
    const place = call.endsWith('submit') ? call.slice(0, -'submit'.length) : `${call}: `
    const threw = (error: unknown) => {
      const message = `the schema of task '${type}' failed: ${describeError(error).message}`
      return this.#refuse(type, options, 'invalid_payload', message, terms)
    }
    let checked: ReturnType<typeof check>
    try {
      checked = check(terms.input, input)
    } catch (error) {
      return threw(error)
    }
    if (!(checked instanceof Promise)) return this.#judge(terms, input, options, checked, place)
    return checked.then((later) => this.#judge(terms, input, options, later, place), threw)
  }

  /** A type of which this process knows only the name. */
  #unknown(type: string, item: ResolvedItem): Submission {
    const refusal = this.#types.refusalOf(type)
    return refusal === undefined
      ? this.#unchecked(type, item)
      : this.#refuse(type, item.options, 'unknown_task_type', `type: ${refusal}`)
  }

  /** The worker's schema checks the input. */
  #unchecked(type: string, { input, options }: ResolvedItem): Submission {
    const what = `the input of task '${type}'`
    return this.#submission(
      type,
      this.#values.encode(input, { what, maxBytes: this.#maxBytes }),
      options,
      undefined,
    )
  }

  #judge(
    terms: TaskTerms,
    input: unknown,
    options: ResolvedOptions | undefined,
    { issues }: Awaited<ReturnType<typeof check>>,
    place: string,
  ): Submission {
    if (issues !== undefined) {
      const message = `the input does not fit the schema of task '${terms.type}': ${describeIssues('input', issues)}`
      return this.#refuse(terms.type, options, 'invalid_payload', message, terms)
    }
    const what = `${place}the input of task '${terms.type}'`
    const text = this.#values.encode(input, { what, maxBytes: this.#maxBytes })
    return this.#submission(terms.type, text, options, terms)
  }

  #refuse(
    type: string,
    options: ResolvedOptions | undefined,
    reason: 'unknown_task_type' | 'invalid_payload',
    message: string,
    terms?: TaskTerms,
  ): Submission {
    const short = message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message
    return { ...this.#submission(type, 'null', options, terms), refused: { reason, message: short } }
  }

  #submission(
    type: string,
    input: string,
    options: ResolvedOptions | undefined,
    terms: TaskTerms | undefined,
  ): Submission {
    const model = options?.model ?? terms?.model
    const tools = options?.tools ?? terms?.tools
    const agreement = options?.agreement
    const timeoutMs = options?.timeoutMs ?? agreement?.timeoutMs ?? terms?.timeoutMs
    this.#watchNames(type, { model, tools })
    const trace = this.#trace()
    const { dueAt, budget: _, agreement: __, onReject: ___, ...others } = options ?? {}
    return {
      ...withoutUndefined(others),
      ...(agreement === undefined ? {} : agreedOf(agreement, options)),
      ...(dueAt === undefined ? {} : { dueAt: Number(dueAt) }),
      ...budgetOf(options, terms),
      type,
      lane: options?.lane ?? agreement?.lane ?? usualLane(terms, isDelayed(options)),
      input,
      ...(model === undefined ? {} : { model }),
      ...(tools === undefined ? {} : { tools }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(trace === undefined ? {} : { trace }),
    }
  }
}

/** Options whose agreement was found by its name. */
type ResolvedOptions = Omit<SubmitOptions, 'agreement'> & { readonly agreement?: Agreement | undefined }
type ResolvedItem = Omit<SubmitItem, 'options'> & { readonly options?: ResolvedOptions | undefined }

/** The type of a definition. Nothing else is read here. */
function typeOf(task: unknown): unknown {
  if (typeof task !== 'object') return undefined
  try {
    return task === null || !('type' in task) ? undefined : task.type
  } catch {
    return undefined
  }
}

/** What a submission takes from its agreement, besides its lane and its limits of time. */
function agreedOf(
  { name, client, latencyMs, oversight, outOfCredits }: Agreement,
  options: ResolvedOptions | undefined,
): Partial<Submission> {
  // Only an agreement makes such a promise.
  const { [LATENCY_LABEL]: _, ...labels } = options?.labels ?? {}
  return {
    client,
    labels: {
      ...labels,
      agreement: name,
      ...(latencyMs === undefined ? {} : { [LATENCY_LABEL]: String(latencyMs) }),
    },
    ...(oversight === undefined ? {} : { oversight }),
    ...(outOfCredits === undefined ? {} : { outOfCredits }),
  }
}

/** The default budget of a task type is cut to what is left above it; a budget that a call names is not. */
function budgetOf(
  options: ResolvedOptions | undefined,
  terms: TaskTerms | undefined,
): { readonly budget?: BudgetTerms } {
  const wallMs = options?.agreement?.deadlineMs
  if (wallMs !== undefined) {
    const given = options?.budget ?? terms?.budget
    const budget = budgetTerms('budget', { ...given, wallMs: Math.min(given?.wallMs ?? wallMs, wallMs) })
    return { budget: options?.budget === undefined ? { ...budget, cut: true } : budget }
  }
  if (options?.budget !== undefined) return { budget: budgetTerms('option budget', options.budget) }
  if (terms?.budget === undefined) return none
  return { budget: { ...budgetTerms('budget', terms.budget), cut: true } }
}

const none = {}

/** The record of a rejection keeps no payload, and at most this much of a schema's message. */
const MAX_MESSAGE_LENGTH = 2_000

function checkOptions(options: SubmitOptions | undefined, call: string): void {
  assertOptions(call, options, submitRules, { familiar: familiarToSubmission })
  if (options?.budget !== undefined) budgetTerms(`${call} option budget`, options.budget)
  if (options?.dueAt !== undefined && options.delayMs !== undefined)
    throw invalid(`${call} options dueAt and delayMs: give only one of them`)
}

const anything = ['', () => true] as const
const itemRules: Rules<SubmitItem> = { task: anything, input: anything, options: anything }

function itemOf(item: unknown, place: string): SubmitItem {
  if (!isRecord(item)) throw invalid(`${place}: an object with task, input, options; given ${show(item)}`)
  const [problem] = problemsIn(item, itemRules)
  if (problem !== undefined) throw invalid(`${place}: ${problem.path}: ${problem.allowed}`)
  return item as unknown as SubmitItem
}

/** Delayed tasks count as automated runs. Source: Track AA, Queue Classification. */
function usualLane(terms: TaskTerms | undefined, delayed: boolean): Lane {
  return (delayed ? terms?.delayedLane : terms?.lane) ?? (delayed ? 'batch' : 'normal')
}

function isDelayed({ dueAt, delayMs = 0 }: SubmitOptions = {}): boolean {
  return dueAt !== undefined || delayMs > 0
}
