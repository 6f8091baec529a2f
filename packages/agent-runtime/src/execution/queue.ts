import {
  assertOptions,
  type BudgetOptions,
  budgetTerms,
  type BudgetTerms,
  describeError,
  encode,
  type ExecutionStore,
  instead,
  invalid,
  isAmount,
  isList,
  isName,
  isRecord,
  lanes,
  limitRule,
  nameRule,
  namesRule,
  problemsIn,
  type Receipt,
  RESERVED,
  type Rules,
  RuntimeError,
  show,
  type Submission,
} from '@ku0/agent-runtime-core'
import { Lane } from '@ku0/agent-runtime-core/schemas'
import { check, describeIssues } from '../schema.ts'
import type { TaskDefinition } from '../task-definition.ts'

/** What a submission may say besides its input. What it leaves out, the task type says. */
export interface SubmitOptions {
  readonly lane?: Lane
  /** An id of the caller's own, 1 to 255 characters; a second submission of it is refused with `already_exists`. */
  readonly taskId?: string
  /** The same key with the same type and input gets the first receipt again. Source: `docs/semantics.md 2.7`. */
  readonly idempotencyKey?: string
  /** On whose behalf. */
  readonly client?: string
  readonly model?: string
  readonly tools?: readonly string[]
  readonly labels?: Readonly<Record<string, string>>
  /** Not to be started before this time: a Date, or epoch ms. */
  readonly dueAt?: Date | number
  /** Not to be started before so many ms from now, by the store's clock. */
  readonly delayMs?: number
  /** The running time allowed to one attempt. */
  readonly timeoutMs?: number
  /** An estimate, counted by `tokensPerWindow`. */
  readonly tokens?: number
  /** An estimate of what fair shares reckon with: 1 without one, 0 to 1e9, to the millionth. */
  readonly cost?: number
  /**
   * What the task, and all below it, may use up together. One that is given to a child is not larger than what is left above it. Source:
   * `docs/semantics.md 11.5`.
   */
  readonly budget?: BudgetOptions
}

/** One submission, as it is made. */
export interface SubmitItem {
  readonly task: TaskDefinition | string
  readonly input: unknown
  readonly options?: SubmitOptions | undefined
}

/**
 * The way in: finds the task type, checks the input with its schema, encodes it as given and hands it to the store. What is
 * wrong with a submission becomes a recorded rejection; what is wrong with the call is thrown.
 * Source: Track AA, Queue Classification; `docs/semantics.md 1.5, 2.1, 8.8`.
 */
export class SubmissionQueue {
  readonly #store: ExecutionStore
  readonly #definitions: ReadonlyMap<string, TaskDefinition>
  readonly #maxBytes: number
  readonly #trace: () => Readonly<Record<string, string>> | undefined
  readonly #assertOpen: () => void

  constructor(deps: {
    readonly store: ExecutionStore
    readonly definitions: ReadonlyMap<string, TaskDefinition>
    readonly maxPayloadBytes: number
    /** The caller's trace context. Source: `docs/semantics.md 16.2`. */
    readonly trace: () => Readonly<Record<string, string>> | undefined
    /** Throws when no submission is taken. */
    readonly assertOpen: () => void
  }) {
    this.#store = deps.store
    this.#definitions = deps.definitions
    this.#maxBytes = deps.maxPayloadBytes
    this.#trace = deps.trace
    this.#assertOpen = deps.assertOpen
  }

  async submit(item: SubmitItem): Promise<Receipt> {
    const [receipt] = await this.#handOver([item], () => '')
    if (receipt === undefined) throw new RuntimeError('internal', 'the store gave no receipt')
    return receipt
  }

  /** One commit for all; receipts in the order of the items. An error names the item. */
  async submitMany(items: unknown): Promise<readonly Receipt[]> {
    this.#assertOpen()
    if (!isList(items)) throw invalid(`submitMany: a list of { task, input, options }; given ${show(items)}`)
    const checked = Array.from(items, (item: unknown, index) => itemOf(item, `item ${index}`))
    return this.#handOver(checked, (index) => `item ${index}: `)
  }

  /** A submission as it would be handed to the store; what is wrong with it stands in `refused`. `place` begins messages. */
  async prepare(item: SubmitItem, place: string): Promise<Submission> {
    return this.#prepare(item, place, (type) =>
      this.#refuse(type, item.options, 'unknown_task_type', this.#unknown(type)),
    )
  }

  /**
   * What a handler submits. The nodes of a graph were checked where it was submitted: whoever coordinates it, in a type that is the
   * runtime's own, need not define them.
   */
  prepareChild(item: SubmitItem, call: string, parentType: string): Submission | Promise<Submission> {
    return this.#prepare(item, call, (type) =>
      parentType.startsWith(RESERVED)
        ? this.#unchecked(type, item)
        : this.#refuse(type, item.options, 'unknown_task_type', this.#unknown(type)),
    )
  }

  /** In the turn of the call, unless a schema answers later. `placeOf` says which item it is, for errors. */
  async #handOver(
    items: readonly SubmitItem[],
    placeOf: (index: number) => string,
  ): Promise<readonly Receipt[]> {
    this.#assertOpen()
    const tasks: Submission[] = []
    for (const [index, item] of items.entries()) {
      const prepared = this.#prepare(item, `${placeOf(index)}submit`, (type) =>
        this.#refuse(type, item.options, 'unknown_task_type', this.#unknown(type)),
      )
      tasks.push(prepared instanceof Promise ? await prepared : prepared)
    }
    this.#assertOpen()
    return tasks.length === 0 ? [] : this.#store.write({ kind: 'submit', tasks })
  }

  #prepare(
    { task, input, options }: SubmitItem,
    call: string,
    undefinedHere: (type: string) => Submission,
  ): Submission | Promise<Submission> {
    const type: unknown = typeof task === 'string' ? task : typeOf(task)
    if (!isName(type)) {
      throw invalid(`${call}: what defineTask gives, or a task type of ${nameRule[0]}; given ${show(task)}`)
    }
    checkOptions(options, call)
    const definition = this.#definitions.get(type)
    if (definition === undefined) return undefinedHere(type)
    const place = call.endsWith('submit') ? call.slice(0, -'submit'.length) : `${call}: `
    const threw = (error: unknown) => {
      const message = `the schema of task '${type}' failed: ${describeError(error).message}`
      return this.#refuse(type, options, 'invalid_payload', message, definition)
    }
    let checked: ReturnType<typeof check>
    try {
      checked = check(definition.input, input)
    } catch (error) {
      return threw(error)
    }
    if (!(checked instanceof Promise)) return this.#judge(definition, input, options, checked, place)
    return checked.then((later) => this.#judge(definition, input, options, later, place), threw)
  }

  #unchecked(type: string, { task, input, options }: SubmitItem): Submission {
    const what = `the input of task '${type}'`
    const definition = typeof task === 'string' ? undefined : task
    return this.#submission(type, encode(input, { what, maxBytes: this.#maxBytes }), options, definition)
  }

  #judge(
    definition: TaskDefinition,
    input: unknown,
    options: SubmitOptions | undefined,
    { issues }: Awaited<ReturnType<typeof check>>,
    place: string,
  ): Submission {
    if (issues !== undefined) {
      const message = `the input does not fit task '${definition.type}': ${describeIssues('input', issues)}`
      return this.#refuse(definition.type, options, 'invalid_payload', message, definition)
    }
    const what = `${place}the input of task '${definition.type}'`
    const text = encode(input, { what, maxBytes: this.#maxBytes })
    return this.#submission(definition.type, text, options, definition)
  }

  #refuse(
    type: string,
    options: SubmitOptions | undefined,
    reason: 'unknown_task_type' | 'invalid_payload',
    message: string,
    definition?: TaskDefinition,
  ): Submission {
    const short = message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message
    return { ...this.#submission(type, 'null', options, definition), refused: { reason, message: short } }
  }

  #submission(
    type: string,
    input: string,
    options: SubmitOptions | undefined,
    definition: TaskDefinition | undefined,
  ): Submission {
    const model = options?.model ?? definition?.model
    const tools = options?.tools ?? definition?.tools
    const timeoutMs = options?.timeoutMs ?? definition?.timeoutMs
    const trace = this.#trace()
    const { dueAt, budget: _, ...others } = options ?? {}
    return {
      ...others,
      ...(dueAt === undefined ? {} : { dueAt: Number(dueAt) }),
      ...budgetOf(options, definition),
      type,
      lane: options?.lane ?? usualLane(definition, isDelayed(options)),
      input,
      ...(model === undefined ? {} : { model }),
      ...(tools === undefined ? {} : { tools }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(trace === undefined ? {} : { trace }),
    }
  }

  #unknown(type: string): string {
    const known = [...this.#definitions.keys()].filter((name) => !name.startsWith(RESERVED))
    const expected = known.length === 0 ? '; createRuntime was given no tasks' : instead(type, known)
    return `type: no task of the type ${show(type)} is defined here${expected}`
  }
}

/** Of a definition, of which nothing else is read here: what it says counts as it was given to the runtime. */
function typeOf(task: unknown): unknown {
  if (typeof task !== 'object') return undefined
  try {
    return task === null || !('type' in task) ? undefined : task.type
  } catch {
    return undefined
  }
}

/** The default of a task type is cut to what is left above it; one that a call names is not. */
function budgetOf(
  options: SubmitOptions | undefined,
  definition: TaskDefinition | undefined,
): { readonly budget?: BudgetTerms } {
  if (options?.budget !== undefined) return { budget: budgetTerms('option budget', options.budget) }
  if (definition?.budget === undefined) return none
  return { budget: { ...budgetTerms('budget', definition.budget), cut: true } }
}

const none = {}

/** A record of a rejection keeps no payload, and not much of what a schema says of one. */
const MAX_MESSAGE_LENGTH = 2_000

/** What each option has to be. */
export const submitRules: Rules<SubmitOptions> = {
  lane: [lanes.join(' | '), (value) => Lane.safeParse(value).success],
  taskId: nameRule,
  idempotencyKey: nameRule,
  client: nameRule,
  model: nameRule,
  tools: namesRule,
  labels: ['an object of texts, no lone surrogates', isLabels],
  dueAt: [
    'a Date, or epoch ms: a whole number from 0 to 8.64e15',
    (value) => isTime(value instanceof Date ? value.getTime() : value),
  ],
  delayMs: ['a whole number of ms from 0 to 8.64e15', isTime],
  timeoutMs: limitRule,
  tokens: ['a whole number, 0 or more', (value) => Number.isSafeInteger(value) && isAmount(value)],
  cost: ['a number from 0 to 1e9', (value) => isAmount(value) && value <= 1e9],
  budget: ['an object of limits', isRecord],
}

/** Whole ms within what a Date can show: the store keeps integers. */
function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value) && isAmount(value) && value <= 8.64e15
}

function isLabels(value: unknown): boolean {
  return (
    isRecord(value) &&
    Object.entries(value).every(
      ([label, text]) => isName(label) && typeof text === 'string' && text.isWellFormed(),
    )
  )
}

function checkOptions(options: SubmitOptions | undefined, call: string): void {
  assertOptions(call, options, submitRules)
  if (options?.budget !== undefined) budgetTerms(`${call} option budget`, options.budget)
  if (options?.dueAt !== undefined && options.delayMs !== undefined)
    throw invalid(`${call} options dueAt and delayMs: give one of them`)
}

const anything = ['', () => true] as const
const itemRules: Rules<SubmitItem> = { task: anything, input: anything, options: anything }

function itemOf(item: unknown, place: string): SubmitItem {
  if (!isRecord(item)) throw invalid(`${place}: an object of task, input, options; given ${show(item)}`)
  const [problem] = problemsIn(item, itemRules)
  if (problem !== undefined) throw invalid(`${place}: ${problem.path}: ${problem.allowed}`)
  return item as unknown as SubmitItem
}

/** Timers are automated runs. Source: Track AA, Queue Classification. */
function usualLane(definition: TaskDefinition | undefined, delayed: boolean): Lane {
  return (delayed ? definition?.delayedLane : definition?.lane) ?? (delayed ? 'batch' : 'normal')
}

function isDelayed({ dueAt, delayMs = 0 }: SubmitOptions = {}): boolean {
  return dueAt !== undefined || delayMs > 0
}
