import {
  distanceBetween,
  marketKey,
  type MarketStage,
  marketTaskKey,
  type Proposal,
  type RankedProposal,
  rankProposals,
  readNormalised,
  RuntimeError,
  suggestionFor,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { AgentProfile } from '../agents/define-agent.ts'
import type { ScoresInput } from '../api/evaluations.ts'
import { ApprovalRejected, TaskFailed } from '../api/errors.ts'
import type {
  Decomposition,
  Job,
  JobContract,
  JobEvaluation,
  JobMeasures,
  JobResult,
} from '../api/markets.ts'
import type { ChildTask } from '../api/task-context.ts'
import type { TaskType } from '../api/task-type.ts'
import { announceEvaluation } from '../client/evaluations.ts'
import { DRIFT_THRESHOLD } from '../client/evaluation-settings.ts'
import type { HandlerContext } from '../durable/context.ts'
import { inputOf } from '../graph/graph-task.ts'
import { GraphFailed, runGraph } from '../graph/run-graph.ts'
import { check, describeIssues } from '../terms/schema.ts'
import { type Market, weightsOf } from './market.ts'
import { checkContract, checkDecomposition, checkProposals, checkScores, graphOf, resultOf } from './edges.ts'
import { measure, measuredScores, weightsAmong } from './measures.ts'

/** Takes a job through the stages of a marketplace. Source: `docs/semantics.md 13.6`. */
export function runJob(ctx: HandlerContext, market: Market, job: Job): Promise<JobResult> {
  return new JobRun(ctx, market, job).run()
}

class JobRun {
  readonly #ctx: HandlerContext
  readonly #market: Market
  readonly #job: Job
  /** The children that do a stage for the marketplace: they are no part of the work. */
  readonly #helpers = new Set<string>()

  constructor(ctx: HandlerContext, market: Market, job: Job) {
    this.#ctx = ctx
    this.#market = market
    this.#job = job
  }

  async run(): Promise<JobResult> {
    const { work: _, ...asked } = this.#job
    await this.#record('job', () => withoutUndefined(asked))
    const proposals = await this.#propose()
    const contract = await this.#negotiate(proposals)
    const decomposition = await this.#decompose(contract)
    const done = await this.#execute(contract, decomposition)
    const evaluation = await this.#evaluate(contract, done)
    const { result, measures } = done
    return { result, contract, cost: measures.cost, evaluation }
  }

  async #propose(): Promise<readonly RankedProposal[]> {
    const job = this.#job
    const given = await this.#own('proposal', this.#market.stages.propose, job)
    return this.#record('proposal', async () => {
      const all = given === undefined ? this.#fitting() : checkProposals(given.value, this.#profiles())
      const { maxPrice = Number.POSITIVE_INFINITY } = job
      const proposals = all.filter(({ price }) => price <= maxPrice)
      if (proposals.length > 0) return this.#ranked(proposals)
      const asked = askedFor(job, this.#profiles())
      throw new RuntimeError(
        'not_found',
        `no agent has made a proposal for the job${asked}${tooDear(all, maxPrice)}`,
      )
    })
  }

  #profiles(): readonly AgentProfile[] {
    return this.#market.agents.find().map(({ profile }) => profile)
  }

  /** The agents that can do the job propose what they cost. */
  #fitting(): readonly Proposal[] {
    const { agents, contracted } = this.#market
    const { needs, domain } = this.#job
    return agents.find(withoutUndefined({ capability: needs, domain })).map(({ profile }) => ({
      agent: profile.name,
      price: profile.cost,
      capabilities: profile.capabilities,
      tier: contracted.has(profile.name) ? 'contracted' : 'marketplace',
    }))
  }

  async #ranked(proposals: readonly Proposal[]): Promise<readonly RankedProposal[]> {
    const { store, environment } = this.#ctx.parts
    const { prefers = [], like, domain } = this.#job
    const { weights, beta, exploration } = this.#market.ranking
    const standingOf = (agentId: string) => store.read({ kind: 'reputation', agentId })
    const target = like === undefined ? undefined : await standingOf(like)
    const among = weightsOf(this.#market, domain)
    const candidates = []
    for (const proposal of proposals) {
      const standing = await standingOf(proposal.agent)
      const distance =
        standing && target ? distanceBetween(standing.average, target.average, among) : undefined
      candidates.push({ ...proposal, ...withoutUndefined({ reputation: standing?.reputation, distance }) })
    }
    const explores = environment.random.next(`ranking\n${this.#ctx.taskId}`) < exploration
    return rankProposals(candidates, { prefers, weights, beta, explores })
  }

  async #negotiate(proposals: readonly RankedProposal[]): Promise<JobContract> {
    const job = this.#job
    const given = await this.#own('contract', this.#market.stages.negotiate, { job, proposals })
    const chosen = given === undefined ? await this.#accepted(proposals) : given.value
    return this.#record('contract', () => checkContract(chosen, job, proposals))
  }

  /** The best proposal; where a person looks, the best one that is approved. */
  async #accepted(proposals: readonly RankedProposal[]): Promise<JobContract> {
    const { oversight } = this.#ctx
    let refusal: unknown
    for (const [at, proposal] of proposals.entries()) {
      const { agent, price, tier, targetMs = this.#job.targetMs } = proposal
      const contract = { agent, price, tier, ...withoutUndefined({ targetMs }) }
      if (oversight === 'autonomous_escalation') return contract
      try {
        await this.#ctx.requestApproval(`contract ${at + 1}`, proposal, {
          mode: oversight,
          onReject: 'throw',
        })
        return contract
      } catch (error) {
        if (!(error instanceof ApprovalRejected)) throw error
        refusal = error
      }
    }
    throw refusal
  }

  async #decompose(contract: JobContract): Promise<Decomposition> {
    const given = await this.#own('decomposition', this.#market.stages.decompose, {
      job: this.#job,
      contract,
    })
    const whole = { parts: { work: { agent: contract.agent } } }
    const isOurs = this.#market.stages.execute === undefined
    const agents = isOurs ? this.#profiles().map(({ name }) => name) : undefined
    return this.#record('decomposition', () =>
      checkDecomposition(given === undefined ? whole : given.value, contract, agents),
    )
  }

  async #execute(contract: JobContract, decomposition: Decomposition): Promise<Executed> {
    const { result, failure } = await this.#work(contract, decomposition)
    return this.#record('execution', async (key) => {
      const measures = await measure(this.#ctx.parts, this.#ctx.taskId, this.#helpers)
      if (failure === undefined) return { result: await this.#checked(result), measures }
      // Nothing is recorded here: a retry of the job does the work again.
      await this.#entered(contract.agent, { ...measuredScores(measures, contract), ...worst }, key)
      throw failure
    })
  }

  /** What the agents give, or how they failed: that is judged, too. */
  async #work(
    contract: JobContract,
    decomposition: Decomposition,
  ): Promise<{ readonly result?: unknown; readonly failure?: Error }> {
    const { execute } = this.#market.stages
    try {
      if (execute !== undefined) {
        const key = marketTaskKey('execution')
        const child = await this.#ctx.ownSpawn(
          key,
          execute,
          { job: this.#job, contract, decomposition },
          free,
        )
        return { result: await child.result() }
      }
      const { nodes } = graphOf(decomposition, contract, this.#job.work)
      const runnable = [...nodes].map(([name, node]) => {
        const { after, options } = node
        const input = (results: ReadonlyMap<string, unknown>) => inputOf(node.input, results)
        return [name, { task: node.task, after, options, input }] as const
      })
      const results = await runGraph(this.#ctx, new Map(runnable), {})
      return { result: results[resultOf(decomposition)] }
    } catch (failure) {
      if (isFailedWork(failure)) return { failure }
      throw failure
    }
  }

  async #checked(result: unknown): Promise<unknown> {
    const answer = await check(this.#market.output, result)
    if (answer.issues === undefined) return answer.value
    const what = describeIssues('output', answer.issues)
    throw new RuntimeError('invalid_output', `stage 'execution' of the job: ${what}`)
  }

  async #evaluate(contract: JobContract, { result, measures }: Executed): Promise<JobEvaluation> {
    const { evaluate } = this.#market.stages
    const judged = await this.#own('evaluation', evaluate, { job: this.#job, contract, result, measures })
    return this.#record('evaluation', (key) => {
      const own = evaluate === undefined ? {} : checkScores(judged?.value ?? {}, evaluate.type)
      return this.#entered(contract.agent, { ...measuredScores(measures, contract), ...own }, key)
    })
  }

  /** The judgement counts once, however often the process dies before it is recorded here as well. */
  async #entered(agentId: string, given: ScoresInput, key: string): Promise<JobEvaluation> {
    const { store, announce } = this.#ctx.parts
    const { domain = 'default' } = this.#job
    const { taskId } = this.#ctx
    const weights = weightsAmong(weightsOf(this.#market, this.#job.domain), given)
    const outcome = await store.write({
      kind: 'evaluate',
      agentId,
      domain,
      weights,
      ...readNormalised(given),
      taskId,
      key,
    })
    if (outcome.as === 'full')
      throw new RuntimeError(
        'limit_exceeded',
        `agent '${agentId}' is new, and the limit maxEvaluatedAgents is reached`,
      )
    // A key that is taken with other content would be another judgement of facts that do not change.
    if (outcome.as === 'conflict') throw new RuntimeError('internal', `key '${key}' is of another evaluation`)
    const { evaluation, deduplicated } = outcome
    if (!deduplicated) announceEvaluation(announce, evaluation, DRIFT_THRESHOLD)
    const { scores, composite, reputation } = evaluation
    return { scores, composite, reputation }
  }

  /** What a stage of the program's own gives; undefined where there is none. */
  async #own(
    stage: MarketStage,
    task: TaskType | undefined,
    input: unknown,
  ): Promise<{ value: unknown } | undefined> {
    if (task === undefined) return undefined
    const child: ChildTask = await this.#ctx.ownSpawn(marketTaskKey(stage), task, input, free)
    this.#helpers.add(child.taskId)
    return { value: await child.result() }
  }

  #record<T>(stage: MarketStage, make: (key: string) => T | Promise<T>): Promise<T> {
    return this.#ctx.ownStep(marketKey(stage), (step) => make(step.idempotencyKey))
  }
}

interface Executed {
  readonly result: unknown
  readonly measures: JobMeasures
}

/** The stages themselves cost the client nothing. */
const free = { cost: 0 }
/** Work that failed. */
const worst = { quality: 0, adherence: 0, speed: 0, errors: 0 }

/** Work that failed speaks against the agent; that it was canceled, or not let in, does not. */
function isFailedWork(error: unknown): error is Error {
  if (error instanceof GraphFailed) return [...error.failures.values()].some((it) => it instanceof TaskFailed)
  return error instanceof TaskFailed
}

/** What a job asks for; a name that no agent has comes with the one that was probably meant. */
function askedFor({ needs = [], domain, maxPrice }: Job, profiles: readonly AgentProfile[]): string {
  const named = (name: string, known: readonly string[]) => {
    const meant = known.includes(name) ? undefined : suggestionFor(name, known)
    return meant === undefined ? name : `${name} (did you mean ${meant}?)`
  }
  const capabilities = profiles.flatMap((it) => it.capabilities)
  const domains = profiles.flatMap((it) => it.domain)
  const asked = [
    ...(needs.length === 0 ? [] : [`needs ${needs.map((it) => named(it, capabilities)).join(', ')}`]),
    ...(domain === undefined ? [] : [`domain ${named(domain, domains)}`]),
    ...(maxPrice === undefined ? [] : [`maxPrice ${maxPrice}`]),
  ]
  return asked.length === 0 ? '' : `: ${asked.join(', ')}`
}

/** The proposals that would have come, had they cost less. */
function tooDear(all: readonly Proposal[], maxPrice: number): string {
  const [lowest, ...others] = all.toSorted((a, b) => a.price - b.price)
  if (lowest === undefined) return ''
  const whose = `that of '${lowest.agent}' at ${lowest.price}`
  return others.length === 0
    ? `; 1 proposal, ${whose.slice('that '.length)}, is above maxPrice ${maxPrice}`
    : `; ${all.length} proposals are above maxPrice ${maxPrice}, the lowest ${whose}`
}
