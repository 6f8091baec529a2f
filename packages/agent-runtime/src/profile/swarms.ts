import {
  assertFields,
  assertOptions,
  budgetTerms,
  type ExecutionStore,
  functionRule,
  invalid,
  isName,
  isRecord,
  limitRule,
  MAX_AGENTS,
  nameRule,
  problemsIn,
  type Rule,
  type Rules,
  RuntimeError,
  show,
  type Submission,
  type SwarmRecord,
  type SwarmTerms,
  isWithinOne,
  wholeNumber,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { Submissions } from '../client/submissions.ts'
import { submitRules } from '../terms/submit-rules.ts'
import { openReceipt } from '../terms/receipts.ts'
import type { Receipt } from '../api/receipts.ts'
import { assertRoute, controllerRule, type LeaseDesk } from './lease-desk.ts'
import { limitProblems, profileOf, profileProblems, termsOf } from '../terms/profile-setting.ts'
import type { TaskProfile } from '../api/profiles.ts'
import type { HeldAgentOptions, Swarm, SwarmOptions, TaskAgentOptions } from '../api/swarms.ts'
import type { TaskLease } from '../api/leases.ts'

/** What swarms need of their runtime. */
export interface SwarmParts {
  readonly store: ExecutionStore
  readonly submissions: Submissions
  readonly desk: LeaseDesk
  readonly assertTaking: () => void
}

/** Makes a swarm, or joins the one of this name and these terms. */
export async function createSwarm(
  parts: SwarmParts,
  route: string,
  options: SwarmOptions,
  byDefault: TaskProfile,
): Promise<Swarm> {
  parts.assertTaking()
  assertRoute('createSwarm', route)
  assertOptions('createSwarm', options, swarmRules)
  const {
    profile: setting,
    limits,
    name = route,
    maxAgents = 10,
    sharedBudget = {},
    threshold = 0.8,
  } = options
  assertFields([
    ...(setting === undefined
      ? limitProblems(limits, 'createSwarm option limits')
      : profileProblems(setting, limits, 'createSwarm option ')),
    ...(isRecord(sharedBudget)
      ? problemsIn(sharedBudget, budgetRules, { path: 'createSwarm option sharedBudget.' })
      : []),
  ])
  const profile =
    setting === undefined ? { ...byDefault, limits: limits ?? byDefault.limits } : profileOf(setting, limits)
  const terms = { route, terms: termsOf(profile), maxAgents, sharedBudget, threshold }
  const outcome = await parts.store.write({ kind: 'putSwarm', name, terms })
  if (outcome.as === 'other_terms')
    throw new RuntimeError(
      'already_exists',
      `createSwarm: the swarm '${name}' already exists with other settings`,
      {
        details: { name, terms: outcome.terms },
      },
    )
  return new OpenSwarm(parts, name, terms)
}

class OpenSwarm implements Swarm {
  readonly name: string
  readonly route: string
  readonly #parts: SwarmParts
  readonly #terms: SwarmTerms

  constructor(parts: SwarmParts, name: string, terms: SwarmTerms) {
    this.#parts = parts
    this.#terms = terms
    this.name = name
    this.route = terms.route
  }

  async spawnAgent(id: string, options: HeldAgentOptions | TaskAgentOptions<unknown> = {}): Promise<never> {
    this.#parts.assertTaking()
    if (!isName(id)) throw invalid(`spawnAgent: an agent's id has ${nameRule[0]}; given ${show(id)}`)
    assertOptions('spawnAgent', options, isTaskAgent(options) ? taskAgentRules : heldAgentRules)
    if (isRecord(options.share))
      assertFields(problemsIn(options.share, shareRules, { path: 'spawnAgent option share.' }))
    const { share } = options
    const member = {
      swarm: this.name,
      agent: id,
      ...(share === undefined ? {} : { share: withoutUndefined(share) }),
    }
    const spawned = isTaskAgent(options)
      ? await this.#submit(options, member)
      : await this.#hold(options, member)
    return spawned as never
  }

  async status(): Promise<SwarmRecord> {
    const [record] = await this.#parts.store.read({ kind: 'swarms', name: this.name })
    if (record === undefined) throw new RuntimeError('not_found', `there is no swarm '${this.name}'`)
    return record
  }

  async close(): Promise<boolean> {
    return (await this.#parts.store.write({ kind: 'closeSwarm', name: this.name })).closed
  }

  async #submit(given: TaskAgentOptions<unknown>, member: Partial<Submission>): Promise<Receipt> {
    const { task, input, share: _, ...options } = given
    if (options.budget !== undefined) budgetTerms('spawnAgent option budget', options.budget)
    const submission = await this.#parts.submissions.prepare({ task, input, options }, 'spawnAgent: submit')
    const [receipt] = await this.#parts.store.write({
      kind: 'submit',
      tasks: [{ ...submission, ...member, profile: this.#terms.terms }],
    })
    if (receipt === undefined) throw new RuntimeError('internal', 'the store gave no receipt')
    return openReceipt(receipt)
  }

  #hold(
    { abortController, timeout, measure, lane, labels }: HeldAgentOptions,
    member: Partial<Submission>,
  ): Promise<TaskLease> {
    if (abortController?.signal.aborted === true)
      throw invalid('spawnAgent: the abortController has already aborted')
    const { grantedMs: _, ...profile } = this.#terms.terms
    return this.#parts.desk.start({
      route: this.route,
      terms: termsOf(profile, timeout),
      controller: abortController ?? new AbortController(),
      measure,
      submission: {
        ...member,
        ...(lane === undefined ? {} : { lane }),
        ...(labels === undefined ? {} : { labels }),
      },
    })
  }
}

function isTaskAgent(
  options: HeldAgentOptions | TaskAgentOptions<unknown>,
): options is TaskAgentOptions<unknown> {
  return isRecord(options) && 'task' in options
}

const anything: Rule = ['', () => true]
const positiveRule = wholeNumber(1, Number.MAX_SAFE_INTEGER)
const budgetRules = { totalCpuTimeUs: positiveRule, totalMemoryBytes: positiveRule }
const shareRules = { cpuTimeUs: positiveRule, memoryBytes: positiveRule }
const swarmRules: Rules<SwarmOptions> = {
  profile: anything,
  limits: anything,
  name: nameRule,
  maxAgents: wholeNumber(1, MAX_AGENTS),
  sharedBudget: [`an object with ${Object.keys(budgetRules).join(', ')}`, isRecord],
  threshold: ['a number above 0, at most 1', (value) => isWithinOne(value) && value > 0],
}
const agentRules = {
  lane: submitRules.lane,
  labels: submitRules.labels,
  share: [`an object with ${Object.keys(shareRules).join(', ')}`, isRecord] as Rule,
}
const heldAgentRules: Rules<HeldAgentOptions> = {
  ...agentRules,
  abortController: controllerRule,
  timeout: limitRule,
  measure: functionRule,
}
const { client, model, tools, tokens, cost, budget, timeoutMs, idempotencyKey } = submitRules
const taskAgentRules: Rules<TaskAgentOptions<unknown>> = {
  ...agentRules,
  client,
  model,
  tools,
  tokens,
  cost,
  budget,
  timeoutMs,
  idempotencyKey,
  task: anything,
  input: anything,
}
