import type { AgreementTerms } from '@ku0/agent-runtime'
import type { Lane } from '@ku0/agent-runtime-core'
import type { Amount, Group, Hold, Scenario, Work } from '../scenario/scenario.ts'
import { slotsOf } from '../scenario/slots.ts'
import { type JobInput, jobOf } from './traders.ts'
import { seededRandom, type SeededRandom } from './random.ts'
import type { TraceRequest } from './trace.ts'
import { folderName, planPlaces } from './tree.ts'

/** One task to submit. */
export interface PlannedTask {
  /** Its place in the workload, from 1; the task carries it as the label `n`. */
  readonly n: number
  readonly group: string
  readonly type: Work['type']
  readonly lane: Lane
  readonly input: TaskInput
  readonly model: string | undefined
  readonly tools: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly idempotencyKey: string | undefined
  /** What else its submission says. */
  readonly options: PlannedOptions
  /** The steps it takes when nothing goes wrong, in the order of their calls; what the ledger must show. */
  readonly stepKeys: readonly string[]
  /** The same of each of its children, where they are witnessed. */
  readonly childStepKeys?: readonly string[]
  /** Of a job: how many agents its marketplace has. */
  readonly agents?: number
  /** Whether its steps take effect one after the other. */
  readonly sequential: boolean
  /** Ms after the wave began, of a recorded trace. */
  readonly afterMs: number
}

/** On whose account a task runs, and what it is estimated at. */
interface PlannedOptions {
  readonly client?: string
  readonly cost?: number
  readonly tokens?: number
  readonly budget?: object
  readonly agreement?: AgreementTerms
}

/** The inputs of the gym's task types. Paths are relative to the scenario's tree. */
type TaskInput =
  | { readonly folder: string; readonly tool: boolean; readonly parallel: boolean; readonly hold?: Hold }
  | { readonly files: readonly string[]; readonly hold?: Hold }
  | SpendInput
  | SuperviseInput
  | StreamInput
  | JobInput
  | { readonly stubborn: boolean }
  | { readonly steps: number }
  | { readonly ms: number }
  | {
      readonly contextBytes: number
      readonly generatedTokens: number
      readonly generateMs: number
      readonly from: number
    }
  | Record<never, never>

/** What a supervisor and its agents do; its place among the supervisors of its group, and how many there are. */
export interface SuperviseInput extends Omit<SuperviseWork, 'type'> {
  readonly place: number
  readonly of: number
}

/** What a pipeline streams: files, over and over. */
export interface StreamInput {
  readonly files: readonly string[]
  readonly events: number
  readonly batch: number
}

/** What a spending task does: steps, each of which takes `stepMs` and charges. */
interface SpendInput {
  readonly steps: number
  readonly stepMs: number
  readonly charge: { readonly tokens?: number; readonly money?: number; readonly cost?: number }
  readonly calls: readonly PlannedCall[]
  readonly hold?: Hold
}

/** A child that a spending task calls. */
interface PlannedCall {
  readonly name: string
  readonly input: SpendInput
  readonly budget?: object
  readonly mayExceed: boolean
}

/** A recorded trace and how much faster than life it is replayed. */
export interface TraceReplay {
  readonly requests: readonly TraceRequest[]
  readonly speedup: number
}

/** Every task of a scenario, in the order of its workload. The same scenario and seed give the same tasks. */
export function planTasks(scenario: Scenario, seed: number, trace?: TraceReplay): readonly PlannedTask[] {
  const paths = planPlaces(seed, scenario.tree).map(({ path }) => path)
  const tasks: PlannedTask[] = []
  const random = seededRandom(seed, 'amounts')
  for (const group of scenario.workload) {
    const requests = trace === undefined ? undefined : replayOf(scenario, group, trace)
    const count = requests?.requests.length ?? group.count
    const stepKeys = stepKeysOf(group.work)
    const msPerToken =
      group.work.type === 'replay-request' ? paceOf(group.work, scenario, requests) : undefined
    for (let i = 0; i < count; i += 1) {
      const n = tasks.length + 1
      const request = requests?.requests[i]
      tasks.push({
        n,
        group: group.name,
        type: group.work.type,
        lane: group.lane === 'mixed' ? (lanesInTurn[i % 3] as Lane) : group.lane,
        // What carries one key is one task: the same input every time.
        input: inputOf(
          group.work,
          group.idempotencyKey === undefined ? n : n - i,
          { place: i, of: count },
          paths,
          scenario.tree.folders,
          random,
          request,
          requests?.speedup,
          msPerToken,
        ),
        model: group.model,
        tools: group.tools,
        labels: group.labels,
        idempotencyKey: group.idempotencyKey,
        options: optionsOf(group, i, random, request),
        stepKeys,
        ...(group.work.type === 'job' && { agents: group.work.agents }),
        ...(group.work.type === 'supervise' && { childStepKeys: agentStepKeys(group.work) }),
        sequential: !(group.work.type === 'inspect-folder' && group.work.parallel),
        afterMs: request === undefined ? 0 : request.afterMs / (requests?.speedup ?? 1),
      })
    }
  }
  return tasks
}

/** The tasks of one wave that fall to one of its submitters, in order: every `of`-th, from the `share`-th on. */
export function tasksOfWave(
  tasks: readonly PlannedTask[],
  groups: readonly string[],
  share: { readonly index: number; readonly of: number },
): readonly PlannedTask[] {
  return tasks.filter(({ group }) => groups.includes(group)).filter((_, i) => i % share.of === share.index)
}

const lanesInTurn = ['interactive', 'normal', 'batch'] as const satisfies readonly Lane[]

/** Bytes of text behind one token, roughly. */
const bytesPerToken = 4

/** The trace as often as it is played for a group, one round after the other; undefined where its tasks come otherwise. */
function replayOf(
  { arrivals }: Scenario,
  group: Group,
  { requests, speedup }: TraceReplay,
): TraceReplay | undefined {
  const arrival = arrivals.find(({ how, groups }) => how === 'trace' && groups.includes(group.name))
  if (arrival?.how !== 'trace') return undefined
  const roundMs = (requests.at(-1)?.afterMs ?? 0) + 1
  const rounds = Array.from({ length: arrival.rounds }, (_, round) =>
    requests.map((request) => ({ ...request, afterMs: request.afterMs + round * roundMs })),
  )
  return { requests: rounds.flat(), speedup }
}

function inputOf(
  work: Work,
  n: number,
  among: { readonly place: number; readonly of: number },
  paths: readonly string[],
  folders: number,
  random: SeededRandom,
  request: TraceRequest | undefined,
  speedup = 1,
  msPerToken = 1,
): TaskInput {
  switch (work.type) {
    case 'inspect-folder': {
      const { tool, parallel, hold } = work
      return { folder: folderName(n % folders), tool, parallel, ...(hold && { hold }) }
    }
    case 'hash-files': {
      const files = Array.from({ length: work.steps }, (_, i) => paths[(n * 7 + i) % paths.length] as string)
      return { files, ...(work.hold && { hold: work.hold }) }
    }
    case 'spend': {
      const { calls, hold } = work
      return { ...spendInput(work, random, calls), ...(hold && { hold }) }
    }
    case 'supervise': {
      const { type: _, ...terms } = work
      return { ...terms, ...among }
    }
    case 'stream': {
      const { events, batch } = work
      const files = Array.from(
        { length: Math.min(events, 20) },
        (_, i) => paths[(n * 7 + i) % paths.length] as string,
      )
      return { files, events, batch }
    }
    case 'job':
      return jobOf(n, paths[(n * 7) % paths.length] as string)
    case 'follow-log':
      return { stubborn: work.stubborn }
    case 'no-op-steps':
      return { steps: work.steps }
    case 'nap':
      return { ms: work.ms }
    case 'replay-request': {
      const { contextTokens, generatedTokens } = request ?? {
        contextTokens: 100 + (n % 50) * 40,
        generatedTokens: 1 + (n % 40),
      }
      return {
        contextBytes: contextTokens * bytesPerToken,
        generatedTokens,
        generateMs: (generatedTokens * msPerToken) / speedup,
        from: n % paths.length,
      }
    }
    case 'crash-process':
    case 'no-op':
      return {}
  }
}

/** How long a token takes to generate, in the trace's own time. */
function paceOf(
  { msPerToken, load }: Extract<Work, { type: 'replay-request' }>,
  { processes, config }: Scenario,
  trace: TraceReplay | undefined,
): number {
  if (msPerToken !== undefined || load === undefined) return msPerToken ?? 1
  const requests = trace?.requests ?? []
  const tokens = requests.reduce((sum, { generatedTokens }) => sum + generatedTokens, 0)
  const slots = processes.reduce((sum, spec) => sum + slotsOf(spec, config), 0)
  return (load * (requests.at(-1)?.afterMs ?? 0) * slots) / Math.max(1, tokens)
}

function optionsOf(
  { name, client, cost, tokens, budget, agreement }: Group,
  i: number,
  random: SeededRandom,
  request: TraceRequest | undefined,
): PlannedOptions {
  const clients = [client ?? []].flat()
  const own = clients[i % clients.length]
  const amount = cost === 'generated-tokens' ? (request?.generatedTokens ?? 1) : cost
  return {
    ...(own !== undefined && { client: own }),
    ...(amount !== undefined && { cost: drawn(amount, random) }),
    ...(tokens !== undefined && { tokens: drawn(tokens, random) }),
    ...(budget !== undefined && { budget }),
    ...(agreement !== undefined && { agreement: { ...agreement, name, client: own ?? '' } }),
  }
}

/** The name of the task's type: the agents of a supervisor or of a marketplace are a part of its type. */
export function taskTypeOf({ type, group }: Pick<PlannedTask, 'type' | 'group'>): string {
  return type === 'supervise' ? supervisorType(group) : type === 'job' ? marketType(group) : type
}

export function marketType(group: string): string {
  return `market-${group}`
}

export function supervisorType(group: string): string {
  return `supervise-${group}`
}

type SuperviseWork = Extract<Work, { type: 'supervise' }>

/** One step a round, and a last round without a crash. */
function agentStepKeys({ crashes }: SuperviseWork): readonly string[] {
  return Array.from({ length: crashes + 1 }, (_, round) => `work:${round}`)
}

type SpendWork = Extract<Work, { type: 'spend' }>

function spendInput(
  { steps, stepMs, charge }: Pick<SpendWork, 'steps' | 'stepMs' | 'charge'>,
  random: SeededRandom,
  calls: SpendWork['calls'] = [],
): SpendInput {
  return {
    steps,
    stepMs,
    charge: drawnCharge(charge, random),
    calls: calls.map(({ name, budget, mayExceed, ...work }) => ({
      name,
      input: spendInput(work, random),
      mayExceed,
      ...(budget && { budget }),
    })),
  }
}

function drawnCharge(charge: SpendWork['charge'], random: SeededRandom): SpendInput['charge'] {
  const { tokens, money, cost } = charge
  return {
    ...(tokens !== undefined && { tokens: drawn(tokens, random) }),
    ...(money !== undefined && { money: drawn(money, random) }),
    ...(cost !== undefined && { cost: drawn(cost, random) }),
  }
}

/** Bounds draw a whole number. */
function drawn(amount: Amount, random: SeededRandom): number {
  return typeof amount === 'number' ? amount : random.int(amount[0], amount[1])
}

function stepKeysOf(work: Work): readonly string[] {
  switch (work.type) {
    case 'inspect-folder':
      return ['list', 'hash', 'classify', ...(work.tool ? ['count-again'] : []), 'write-result']
    case 'hash-files':
      return Array.from({ length: work.steps }, (_, i) => `hash:${i}`)
    case 'spend':
      return Array.from({ length: work.steps }, (_, i) => `spend:${i}`)
    case 'follow-log':
      return ['follow']
    case 'crash-process':
      return ['prepare']
    case 'replay-request':
      return ['read-context', 'generate']
    case 'nap':
      return ['lie-down', 'get-up']
    // Their steps do nothing, or are those of their children: they have no effect to witness.
    case 'supervise':
    case 'stream':
    case 'job':
    case 'no-op':
    case 'no-op-steps':
      return []
  }
}
