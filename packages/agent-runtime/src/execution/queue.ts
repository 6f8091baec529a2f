import {
  describeError,
  encode,
  type ExecutionStore,
  Lane,
  lanes,
  type Receipt,
  RuntimeError,
  show,
  type Submission,
  suggestionFor,
} from '@ku0/agent-runtime-core'
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
  /** Not to be started before this time, epoch ms. */
  readonly dueAt?: number
  /** Not to be started before so many ms from now, by the store's clock. */
  readonly delayMs?: number
  /** The running time allowed to one attempt. */
  readonly timeoutMs?: number
  /** An estimate, counted by `tokensPerWindow`. */
  readonly tokens?: number
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

  constructor(deps: {
    readonly store: ExecutionStore
    readonly definitions: ReadonlyMap<string, TaskDefinition>
    readonly maxPayloadBytes: number
    /** The caller's trace context. Source: `docs/semantics.md 16.2`. */
    readonly trace: () => Readonly<Record<string, string>> | undefined
  }) {
    this.#store = deps.store
    this.#definitions = deps.definitions
    this.#maxBytes = deps.maxPayloadBytes
    this.#trace = deps.trace
  }

  /** One commit for all; receipts in the order of the items. */
  async submit(items: readonly SubmitItem[]): Promise<readonly Receipt[]> {
    const tasks: Submission[] = []
    for (const item of items) {
      const prepared = this.#prepare(item)
      tasks.push(prepared instanceof Promise ? await prepared : prepared)
    }
    return tasks.length === 0 ? [] : this.#store.write({ kind: 'submit', tasks })
  }

  #prepare({ task, input, options }: SubmitItem): Submission | Promise<Submission> {
    if (options !== undefined) checkOptions(options)
    const type = typeof task === 'string' ? task : task?.type
    if (!isName(type)) {
      throw new RuntimeError('invalid_argument', `a task type has 1 to 255 characters; given ${show(type)}`)
    }
    const definition = this.#definitions.get(type)
    if (definition === undefined) return this.#refuse(type, options, 'unknown_task_type', this.#unknown(type))
    const threw = (error: unknown) => {
      const message = `the schema of task '${type}' threw: ${describeError(error).message}`
      return this.#refuse(type, options, 'invalid_payload', message, definition)
    }
    let checked: ReturnType<typeof check>
    try {
      checked = check(definition.input, input)
    } catch (error) {
      return threw(error)
    }
    if (!(checked instanceof Promise)) return this.#judge(definition, input, options, checked)
    return checked.then((later) => this.#judge(definition, input, options, later), threw)
  }

  #judge(
    definition: TaskDefinition,
    input: unknown,
    options: SubmitOptions | undefined,
    { issues }: Awaited<ReturnType<typeof check>>,
  ): Submission {
    if (issues !== undefined) {
      const message = `the input does not fit task '${definition.type}': ${describeIssues('input', issues)}`
      return this.#refuse(definition.type, options, 'invalid_payload', message, definition)
    }
    const text = encode(input, { what: `the input of task '${definition.type}'`, maxBytes: this.#maxBytes })
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
    return {
      ...options,
      type,
      lane: options?.lane ?? definition?.lane ?? 'normal',
      input,
      ...(model === undefined ? {} : { model }),
      ...(tools === undefined ? {} : { tools }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(trace === undefined ? {} : { trace }),
    }
  }

  #unknown(type: string): string {
    const known = [...this.#definitions.keys()]
    const expected = known.length === 0 ? '; createRuntime was given no tasks' : instead(type, known)
    return `type: no task of the type ${show(type)} is defined here${expected}`
  }
}

/** A record of a rejection keeps no payload, and not much of what a schema says of one. */
const MAX_MESSAGE_LENGTH = 2_000

/** What each option has to be. */
const rules: {
  readonly [K in keyof SubmitOptions]-?: readonly [expected: string, holds: (value: unknown) => boolean]
} = {
  lane: [lanes.join(' | '), (value) => Lane.safeParse(value).success],
  taskId: ['1 to 255 characters', isName],
  idempotencyKey: ['1 to 255 characters', isName],
  client: ['1 to 255 characters', isName],
  model: ['1 to 255 characters', isName],
  tools: ['a list of names', (value) => Array.isArray(value) && value.every(isName)],
  labels: ['an object of texts', isLabels],
  dueAt: ['epoch ms, a whole number from 0 to 8.64e15', isTime],
  delayMs: ['a whole number of ms from 0 to 8.64e15', isTime],
  timeoutMs: ['a number of ms above 0', (value) => isAmount(value) && value > 0],
  tokens: ['a whole number, 0 or more', (value) => Number.isSafeInteger(value) && isAmount(value)],
}

/** Whole ms within what a Date can show: the store keeps integers. */
function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value) && isAmount(value) && value <= 8.64e15
}

function checkOptions(options: SubmitOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name)) {
      throw new RuntimeError(
        'invalid_argument',
        `there is no submit option ${show(name)}${instead(name, Object.keys(rules))}`,
      )
    }
    const [expected, holds] = rules[name as keyof SubmitOptions]
    if (value !== undefined && !holds(value)) {
      throw new RuntimeError('invalid_argument', `submit option ${name}: ${expected}; given ${show(value)}`)
    }
  }
  if (options.dueAt !== undefined && options.delayMs !== undefined) {
    throw new RuntimeError('invalid_argument', 'submit options dueAt and delayMs: give one of them')
  }
}

/** What was likely meant, or all there is. */
function instead(name: string, known: readonly string[]): string {
  const meant = suggestionFor(name, known)
  return meant === undefined ? `; there are ${known.join(', ')}` : `, did you mean ${meant}?`
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 255
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isLabels(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.entries(value).every(([name, text]) => isName(name) && typeof text === 'string')
}
