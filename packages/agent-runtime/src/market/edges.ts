import {
  clientTiers,
  dimensions,
  type ConfigProblem,
  isList,
  isOneOf,
  isRecord,
  isWithinOne,
  limitRule,
  MICRO,
  nameRule,
  namesRule,
  problemsIn,
  type Proposal,
  type Rule,
  type Rules,
  RuntimeError,
  show,
  meantText,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { AgentProfile } from '../agents/define-agent.ts'
import type { ScoresInput } from '../api/evaluations.ts'
import type { Decomposition, Job, JobContract, JobPart } from '../api/markets.ts'
import { type GraphPlan, parseGraph } from '../terms/graph-plan.ts'
import { creditsRule } from './job-schema.ts'

// The edges between the stages of a job: what a stage of the program's own gives is checked before the next one gets it.

/** Proposals of different agents, all of them known ones. Throws `invalid_output`. */
export function checkProposals(given: unknown, known: readonly AgentProfile[]): readonly Proposal[] {
  if (!isList(given)) throw refused('proposal', [`a list of proposals; given ${show(given)}`])
  const problems = given.flatMap((it, at) =>
    linesOf(it, proposalRules, `proposal ${at + 1} `, proposalFields),
  )
  if (given.length > MAX_PROPOSALS) problems.push(`at most ${MAX_PROPOSALS} proposals; given ${given.length}`)
  if (problems.length > 0) throw refused('proposal', problems)
  const proposals = given as readonly Proposal[]
  const names = new Set<string>()
  const agents = new Set(known.map(({ name }) => name))
  for (const [at, { agent }] of proposals.entries()) {
    if (names.has(agent))
      throw refused('proposal', [`one proposal of each agent; there are two of ${show(agent)}`])
    names.add(agent)
    // No more are told.
    if (!agents.has(agent) && problems.length < MAX_LINES)
      problems.push(agentProblem(`proposal ${at + 1}`, agent, [...agents]))
  }
  if (problems.length > 0) throw refused('proposal', problems)
  return proposals.map((it) => withoutUndefined(it))
}

/** What a judge gives. Throws `invalid_output` for a dimension that there is not, and for a score outside 0 to 1. */
export function checkScores(given: unknown, judge: string): ScoresInput {
  const problems = linesOf(given, scoreRules, `judge '${judge}' `, [])
  if (problems.length > 0) throw refused('evaluation', problems)
  return withoutUndefined(given as ScoresInput)
}
/** A contract with an agent that has made a proposal, for no more than the client pays. Throws `invalid_output`. */
export function checkContract(
  given: unknown,
  { maxPrice = Number.POSITIVE_INFINITY }: Job,
  proposals: readonly Proposal[],
): JobContract {
  const problems = linesOf(given, contractRules, 'contract ', contractFields)
  if (problems.length > 0) throw refused('contract', problems)
  const contract = given as JobContract
  if (!proposals.some(({ agent }) => agent === contract.agent))
    throw refused('contract', [`an agent that has made a proposal; given ${show(contract.agent)}`])
  if (contract.price > maxPrice)
    throw refused('contract', [`a price of at most maxPrice ${maxPrice}; given ${contract.price}`])
  return withoutUndefined(contract) as JobContract
}

/** Parts that form a graph and cost no more than was agreed, each for one of `agents`; undefined: the program does the work itself, by whom it likes. Throws `invalid_output`. */
export function checkDecomposition(
  given: unknown,
  { price }: JobContract,
  agents: readonly string[] | undefined,
): Decomposition {
  const problems = linesOf(given, decompositionRules, 'decomposition ', ['parts'])
  const parts: Readonly<Record<string, unknown>> =
    isRecord(given) && isRecord(given['parts']) ? given['parts'] : {}
  for (const [name, part] of Object.entries(parts))
    problems.push(...linesOf(part, partRules, `part '${name}' `, ['agent']))
  if (problems.length > 0) throw refused('decomposition', problems)
  const decomposition = given as Decomposition
  for (const [name, { agent }] of Object.entries(decomposition.parts))
    if (agents?.includes(agent) === false && problems.length < MAX_LINES)
      problems.push(agentProblem(`part '${name}'`, agent, agents))
  if (problems.length > 0) throw refused('decomposition', problems)
  const graph = graphProblems(decomposition)
  if (graph.length > 0) throw refused('decomposition', graph)
  const { result } = decomposition
  if (result === undefined && lastsOf(decomposition).length !== 1)
    throw refused('decomposition', [
      `a result, the part whose output is that of the job: several parts come last, ${lastsOf(decomposition).join(', ')}`,
    ])
  if (result !== undefined && !Object.hasOwn(parts, result))
    throw refused('decomposition', [`a result that is one of its parts; given ${show(result)}`])
  const cost = Object.values(decomposition.parts).reduce((sum, part) => sum + micro(part.cost ?? 0), 0)
  if (cost > micro(price))
    throw refused('decomposition', [
      `parts that cost no more than the price ${price}; they cost ${cost / MICRO}`,
    ])
  return decomposition
}

/** The part whose output is the result of the job. The decomposition has been checked. */
export function resultOf(decomposition: Decomposition): string {
  return decomposition.result ?? lastsOf(decomposition)[0] ?? ''
}

/** The parts that no other waits for. */
function lastsOf({ parts }: Decomposition): readonly string[] {
  const awaited = new Set(
    Object.values(parts).flatMap(({ after = [], inputFrom = [] }) => [
      ...after,
      ...(typeof inputFrom === 'string' ? [inputFrom] : Object.values(inputFrom)),
    ]),
  )
  return Object.keys(parts).filter((name) => !awaited.has(name))
}

/** The graph of the parts; a part without an input of its own gets the work. The decomposition has been checked. */
export function graphOf(decomposition: Decomposition, { price }: JobContract, work: unknown): GraphPlan {
  const entries = Object.entries(decomposition.parts)
  const named = entries.reduce((sum, [, { cost }]) => sum + micro(cost ?? 0), 0)
  const others = entries.filter(([, { cost }]) => cost === undefined).length
  const share = others === 0 ? 0 : Math.floor((micro(price) - named) / others) / MICRO
  const nodes = entries.map(([name, part]) => [name, nodeOf(part, part.cost ?? share, work)] as const)
  const { plan, problems } = parseGraph({ nodes: Object.fromEntries(nodes) })
  if (plan === undefined) throw refused('decomposition', problems)
  return plan
}

function graphProblems({ parts }: Decomposition): readonly string[] {
  const nodes = Object.entries(parts).map(([name, part]) => [name, nodeOf(part, 0, undefined)] as const)
  return parseGraph({ nodes: Object.fromEntries(nodes) }).problems
}

function nodeOf({ agent, after, inputFrom, ...part }: JobPart, cost: number, work: unknown): object {
  const input = 'input' in part ? { input: part.input } : {}
  const whole = inputFrom === undefined && part.input === undefined ? { input: work } : input
  return {
    task: agent,
    options: { cost },
    ...(after === undefined ? {} : { after }),
    ...(inputFrom === undefined ? whole : { ...input, inputFrom }),
  }
}

function micro(credits: number): number {
  return Math.round(credits * MICRO)
}

function agentProblem(of: string, agent: string, agents: readonly string[]): string {
  return `${of} agent: an agent of the marketplace${meantText(agent, agents)}; given ${show(agent)}`
}

function refused(stage: string, problems: readonly string[]): RuntimeError {
  return new RuntimeError(
    'invalid_output',
    `stage '${stage}' of the job: ${problems.slice(0, MAX_LINES).join('; ')}`,
  )
}

function linesOf(
  given: unknown,
  rules: Readonly<Record<string, Rule>>,
  path: string,
  required: readonly string[],
): string[] {
  if (!isRecord(given))
    return [
      `${path.trim()}: an object with ${(required.length === 0 ? Object.keys(rules) : required).join(', ')}; given ${show(given)}`,
    ]
  return problemsIn(withoutUndefined(given), rules, { path, required }).map(textOf)
}

function textOf({ path, allowed, given }: ConfigProblem): string {
  return `${path}: ${allowed}; given ${show(given)}`
}

const MAX_PROPOSALS = 1_000
const MAX_LINES = 10
const scoreRule: Rule = ['a score from 0 to 1', isWithinOne]
const scoreRules = Object.fromEntries(dimensions.map((it) => [it, scoreRule]))
const proposalFields = ['agent', 'price', 'capabilities', 'tier']
const contractFields = ['agent', 'price', 'tier']
const proposalRules: Rules<Proposal> = {
  agent: nameRule,
  price: creditsRule,
  capabilities: namesRule,
  tier: isOneOf(clientTiers),
  targetMs: limitRule,
}
const contractRules: Rules<JobContract> = {
  agent: nameRule,
  price: creditsRule,
  tier: isOneOf(clientTiers),
  targetMs: limitRule,
}
const decompositionRules: Rules<Decomposition> = {
  parts: ['an object of parts by name, at least one', (it) => isRecord(it) && Object.keys(it).length > 0],
  result: nameRule,
}
const partRules: Rules<JobPart> = {
  agent: nameRule,
  input: ['', () => true],
  inputFrom: ['the name of a part, or an object of such names', () => true],
  after: namesRule,
  cost: creditsRule,
}
