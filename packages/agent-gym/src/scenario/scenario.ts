import {
  clientTiers,
  defaultCredits,
  outOfCreditsChoices,
  oversightModes,
  supervisionStrategies,
} from '@ku0/agent-runtime-core'
import { Lane } from '@ku0/agent-runtime-core/schemas'
import { z } from 'zod'
import { Call } from './call.ts'
import { Expectation, Figure } from './expectation.ts'

/** How hard a scenario is: what `--suite` chooses by. */
export const difficulties = ['easy', 'medium', 'hard'] as const
export type Difficulty = (typeof difficulties)[number]

/** Track AA's acceptance criteria, in its order. Source: Track AA, Acceptance Criteria; `docs/semantics.md 17.4`. */
export const criteria = ['concurrency', 'resume', 'cancellation', 'backpressure'] as const
export type Criterion = (typeof criteria)[number]

const Name = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'lower-case words joined by dashes')

/** A place in its handler where a task stays until a gate is opened. */
const Hold = z.strictObject({
  gate: Name,
  /** Inside this step's function, by position from 0, before it takes effect; or after the last step. */
  at: z.union([z.int().min(0), z.literal('end')]),
  /** Only a pass in this process holds. */
  process: Name.optional(),
  /** Stays even when its signal is aborted, as a frozen tool would. */
  ignoreAbort: z.boolean().default(false),
})
export type Hold = z.infer<typeof Hold>

/** An amount, or bounds between which the seed draws one for each task. */
const Amount = z.union([z.number().min(0), z.tuple([z.number().min(0), z.number().min(0)])])
export type Amount = z.infer<typeof Amount>

/** What a step charges: whole tokens, money, and what shares reckon with. */
const Charge = z.strictObject({
  tokens: Amount.optional(),
  money: Amount.optional(),
  cost: Amount.optional(),
})

const Limits = {
  tokens: z.number().positive().optional(),
  money: z.number().positive().optional(),
  cost: z.number().positive().optional(),
  steps: z.number().positive().optional(),
  wallMs: z.number().positive().optional(),
}
/** What a task and all below it may use up, and where it asks before. The runtime says what is wrong with it. */
const Budget = z.strictObject({
  ...Limits,
  soft: z.union([z.number(), z.strictObject(Limits)]).optional(),
})

/** What the tasks of a group do. */
export const Work = z.discriminatedUnion('type', [
  /** Walks a folder, reads and hashes its files, classifies them, lets a child process count again, writes the result. */
  z.strictObject({
    type: z.literal('inspect-folder'),
    /** The child process; without it the task stays in its process. */
    tool: z.boolean().default(true),
    /** Hash and classify side by side. */
    parallel: z.boolean().default(false),
    hold: Hold.optional(),
  }),
  /** Reads and hashes one file a step. */
  z.strictObject({ type: z.literal('hash-files'), steps: z.int().min(1).max(1000), hold: Hold.optional() }),
  /** Runs a tool that follows a file for ever, and has a child of its own. */
  z.strictObject({
    type: z.literal('follow-log'),
    /** The tool and its child ignore SIGTERM. */
    stubborn: z.boolean().default(false),
  }),
  /** Does one step, then kills its own process, every time. */
  z.strictObject({ type: z.literal('crash-process') }),
  /** Does nothing: for throughput and admission. */
  z.strictObject({ type: z.literal('no-op') }),
  /** Uses things up: so many steps, each of which takes a while and charges. */
  z.strictObject({
    type: z.literal('spend'),
    steps: z.int().min(1).max(1000).default(1),
    /** How long each step takes. */
    stepMs: z.int().min(0).max(600_000).default(0),
    /** What each step charges. */
    charge: Charge.default({}),
    /** Children, called after the steps, one after the other. Their tasks are of the group of their name. */
    calls: z
      .array(
        z.strictObject({
          name: Name,
          steps: z.int().min(1).max(1000).default(1),
          stepMs: z.int().min(0).max(600_000).default(0),
          charge: Charge.default({}),
          budget: Budget.optional(),
          /** The parent goes on when the child is ended for a budget. */
          mayExceed: z.boolean().default(false),
        }),
      )
      .default([]),
    hold: Hold.optional(),
  }),
  /** Does nothing in so many steps. */
  z.strictObject({ type: z.literal('no-op-steps'), steps: z.int().min(1).max(100_000) }),
  /** A step, a wait without a slot, a step. */
  z.strictObject({ type: z.literal('nap'), ms: z.int().min(0).max(600_000) }),
  /**
   * Supervises agents, each of which takes a step and crashes, so many times: of all agents of the group one every `everyMs`. What an
   * agent has recorded it does not do again when its supervisor starts it again.
   */
  z.strictObject({
    type: z.literal('supervise'),
    agents: z.int().min(1).max(1000),
    crashes: z.int().min(0).max(1000),
    everyMs: z.int().min(1).max(60_000),
    strategy: z.enum(supervisionStrategies).default('one_for_one'),
    maxRestarts: z.int().min(0).max(1000).default(1000),
    periodMs: z.int().min(1).max(600_000).default(60_000),
  }),
  /** A pipeline: one stage reads files, one hashes what that has read, and one sums up what comes, in the order in which it comes. */
  z.strictObject({
    type: z.literal('stream'),
    events: z.int().min(1).max(100_000),
    /** How many events a stage publishes, and receives, at once. */
    batch: z.int().min(1).max(500).default(10),
  }),
  /** A job for a marketplace of so many agents: those that fit make proposals, the best one reads a file, and its work is judged. */
  z.strictObject({ type: z.literal('job'), agents: z.int().min(5).max(1000) }),
  /** A request of a trace: hashes as much as its context, takes as long as its generation. */
  z
    .strictObject({
      type: z.literal('replay-request'),
      msPerToken: z.number().positive().optional(),
      /** In place of `msPerToken`: the whole trace is to be so much of what all slots can do in its time; 1.2 is a fifth too much. */
      load: z.number().positive().optional(),
    })
    .refine(({ msPerToken, load }) => (msPerToken === undefined) !== (load === undefined), {
      message: 'one of msPerToken and load',
    }),
])
export type Work = z.infer<typeof Work>

/** What its client has agreed to; the name of the group is that of the agreement. */
const Agreement = z.strictObject({
  tier: z.enum(clientTiers).optional(),
  lane: Lane.optional(),
  deadlineMs: z.int().min(1).optional(),
  oversight: z.enum(oversightModes).optional(),
  outOfCredits: z.enum(outOfCreditsChoices).optional(),
})

/** Tasks of one kind. */
export const Group = z.strictObject({
  name: Name,
  count: z.int().min(1).max(1_000_000),
  work: Work,
  /** `mixed`: interactive, normal and batch in turn. */
  lane: z.union([Lane, z.literal('mixed')]).default('normal'),
  model: z.string().optional(),
  tools: z.array(z.string()).default([]),
  /** On whose account; of several clients each task's in turn. */
  client: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
  /** What a task is estimated to cost; `generated-tokens`: what the request of a trace generated. */
  cost: z.union([Amount, z.literal('generated-tokens')]).optional(),
  /** How many tokens a task is estimated to use, for quotas. */
  tokens: Amount.optional(),
  /** Besides `n`, which is the task's place in the workload. */
  labels: z
    .record(z.string(), z.string())
    .refine((labels) => !('n' in labels), { message: '`n` is the place of the task in the workload' })
    .default({}),
  budget: Budget.optional(),
  agreement: Agreement.optional(),
  /** One idempotency key for the whole group. */
  idempotencyKey: z.string().min(1).optional(),
})
export type Group = z.infer<typeof Group>

/** A client with a share. Not named here it has what the runtime gives to those that nobody said anything about. */
export const ClientSpec = z.strictObject({
  name: z.string().min(1),
  credits: z.number().min(0).default(defaultCredits),
  tier: z.enum(clientTiers).default('marketplace'),
})
export type ClientSpec = z.infer<typeof ClientSpec>

/** When something happens: after so many sightings, over the whole run or of one group or process; then a little later. */
export const Trigger = z.strictObject({
  /** A handler was entered, is held at a gate, was left, was parked for a budget; a submission was answered; a process ended. */
  on: z.enum(['entered', 'holding', 'left', 'parked', 'submitted', 'exited']),
  count: z.int().min(1),
  group: Name.optional(),
  process: Name.optional(),
  thenMs: z.int().min(0).default(0),
})
export type Trigger = z.infer<typeof Trigger>

const wave = {
  groups: z.array(Name).min(1),
  /** The processes that submit; several share the wave evenly. Default: the first of the scenario. */
  by: z.array(Name).min(1).optional(),
  when: Trigger.optional(),
}

/** How tasks arrive. */
export const Arrival = z.discriminatedUnion('how', [
  /** In one call and one commit. */
  z.strictObject({ how: z.literal('bulk'), ...wave }),
  /** Each in a call of its own, all at once. */
  z.strictObject({ how: z.literal('together'), ...wave }),
  /** Each after the one before was answered. */
  z.strictObject({ how: z.literal('in-order'), ...wave }),
  /** Each after the one before was finished and the runtime was idle for a while. */
  z.strictObject({ how: z.literal('from-idle'), ...wave, idleMs: z.int().min(0) }),
  /** So many a second, at times drawn from the seed. */
  z.strictObject({ how: z.literal('rate'), ...wave, perSecond: z.number().positive() }),
  /** Fills the queue to each depth and tries each lane there; what was let in by the try is canceled again. */
  z.strictObject({
    how: z.literal('probe'),
    ...wave,
    depths: z.array(z.int().min(0)).min(1),
    lanes: z.array(Lane).min(1),
  }),
  /** As a recorded trace had them, at `--speedup`; played so often, with rows numbered on. */
  z.strictObject({ how: z.literal('trace'), ...wave, rounds: z.int().min(1).max(100).default(1) }),
])
export type Arrival = z.infer<typeof Arrival>

/** What is done to the processes and tasks while they work, one after the other. */
export const Fault = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('signal'),
    process: Name,
    signal: z.enum(['SIGKILL', 'SIGTERM', 'SIGSTOP', 'SIGCONT']),
    when: Trigger.optional(),
  }),
  /** Starts a standby process, or one that is gone. */
  z.strictObject({ do: z.literal('start'), process: Name, when: Trigger.optional() }),
  z.strictObject({ do: z.literal('open'), gate: Name, when: Trigger.optional() }),
  /** Nothing but waiting, so that the scenario is not over before. */
  z.strictObject({ do: z.literal('await'), when: Trigger }),
  /** Cancels the tasks of a group, all at once. */
  z.strictObject({ do: z.literal('cancel'), group: Name, by: Name, when: Trigger.optional() }),
  /** Answers every budget that asks. */
  z.strictObject({
    do: z.literal('answer-budgets'),
    by: Name,
    answer: z.enum(['continue', 'stop']),
    /** What each limit rises by. */
    raise: z.strictObject(Limits).optional(),
    when: Trigger.optional(),
  }),
  /** Calls of processes besides submitting; of several processes all at once. */
  z.strictObject({
    do: z.literal('call'),
    by: z.array(Name).min(1),
    calls: z.array(Call).min(1),
    when: Trigger.optional(),
  }),
  /** So many faults, drawn from the seed over the course of the work: kills, freezes and terminations, each made good again. */
  z.strictObject({
    do: z.literal('draw'),
    count: z.int().min(1).max(1000),
    kinds: z.array(z.enum(['kill', 'freeze', 'terminate'])).min(1),
    processes: z.array(Name).min(1),
    /** Over the course of so many passes; of as many as there are tasks where nothing is said. */
    passes: z.int().min(1).optional(),
    /** How long a frozen process stays so. */
    freezeMs: z.tuple([z.int().min(1), z.int().min(1)]).default([100, 1000]),
  }),
])
export type Fault = z.infer<typeof Fault>

/** One process of a scenario: a program with a runtime in it. */
export const ProcessSpec = z.strictObject({
  name: Name,
  /** Without workers it only submits. */
  workers: z
    .strictObject({ count: z.int().min(1), capacity: z.int().min(1), types: z.array(z.string()).optional() })
    .optional(),
  /** Workers begin at once, or when every arrival without a trigger has been submitted. */
  workersStart: z.enum(['at-once', 'after-arrivals']).default('at-once'),
  /** Not started until a fault starts it. */
  standby: z.boolean().default(false),
  /** Started again whenever it dies. */
  respawn: z.boolean().default(false),
})
export type ProcessSpec = z.infer<typeof ProcessSpec>

/** A scenario file: data, not code. */
export const Scenario = z
  .strictObject({
    id: Name,
    title: z.string().min(1).max(100),
    /** What is measured and how, for a reader of the report. */
    about: z.string().min(1),
    category: Name,
    difficulty: z.enum(difficulties),
    /** The acceptance criteria whose verdict this scenario takes part in. */
    acceptance: z.array(z.enum(criteria)).default([]),
    /** From scratch, so many times, with the same seed. */
    runs: z.int().min(1).max(20).default(1),
    /** Whether plain SQLite is timed before and after each run: what else the machine does slows both. */
    besideSqlite: z.boolean().default(false),
    timeoutMs: z.int().min(1000).default(60_000),
    durability: z.enum(['full', 'normal']).default('full'),
    /** Settings of the runtime that differ from its defaults; printed in the report. */
    config: z.record(z.string(), z.unknown()).default({}),
    processes: z.array(ProcessSpec).min(1),
    tree: z
      .strictObject({
        folders: z.int().min(1).max(1000),
        filesPerFolder: z.int().min(1).max(1000),
        maxBytes: z.int().min(64).max(1_000_000),
      })
      .default({ folders: 10, filesPerFolder: 12, maxBytes: 8192 }),
    /** Set before the first submission. */
    clients: z.array(ClientSpec).default([]),
    workload: z.array(Group).min(1),
    arrivals: z.array(Arrival).min(1),
    faults: z.array(Fault).default([]),
    /** `full` reads every event back, `rows` only task rows: for throughput, where nothing may watch. */
    evidence: z.enum(['full', 'rows']).default('full'),
    expect: z.array(Expectation).min(1),
    /** The figure shown beside the verdict. */
    figure: Figure,
  })
  .superRefine((scenario, context) => {
    for (const { path, message } of contradictions(scenario))
      context.addIssue({ code: 'custom', path, message })
  })
export type Scenario = z.infer<typeof Scenario>

/** Whether it needs a file and real processes around it: several processes, or signals to one. */
export function needsFile(scenario: Scenario): boolean {
  const signals = scenario.faults.some(
    (fault) => fault.do === 'signal' || fault.do === 'draw' || fault.do === 'start',
  )
  return scenario.processes.length > 1 || signals || scenario.processes.some(({ respawn }) => respawn)
}

/** Whether it replays a recorded trace, which the command line has to bring. */
export function needsTrace(scenario: Scenario): boolean {
  return scenario.arrivals.some(({ how }) => how === 'trace')
}

type Contradiction = { readonly path: (string | number)[]; readonly message: string }

/** Names that lead nowhere, and groups that never arrive or arrive twice. */
function contradictions(scenario: {
  readonly processes: readonly ProcessSpec[]
  readonly clients: readonly ClientSpec[]
  readonly workload: readonly Group[]
  readonly arrivals: readonly Arrival[]
  readonly faults: readonly Fault[]
  readonly expect: readonly Expectation[]
  readonly figure: Figure
}): readonly Contradiction[] {
  const processes = scenario.processes.map(({ name }) => name)
  const groups = scenario.workload.map(({ name }) => name)
  const called = scenario.workload.flatMap(({ work }) =>
    work.type === 'spend' ? work.calls.map(({ name }) => name) : [],
  )
  const targets = scenario.faults.flatMap((fault) =>
    fault.do === 'call' ? fault.calls.map(({ of }) => of) : [],
  )
  const known = [...groups, ...called, ...targets]
  const found: Contradiction[] = []
  const mustKnow = (
    kind: string,
    names: readonly string[],
    name: string | undefined,
    path: (string | number)[],
  ) => {
    if (name === undefined || names.includes(name)) return
    found.push({ path, message: `unknown ${kind} "${name}"; there are ${names.join(', ')}` })
  }
  const checkTrigger = (trigger: Trigger | undefined, path: (string | number)[]) => {
    mustKnow('process', processes, trigger?.process, [...path, 'when', 'process'])
    mustKnow('group', groups, trigger?.group, [...path, 'when', 'group'])
  }
  const twice = (names: readonly string[]) => names.filter((name, i) => names.indexOf(name) !== i)
  for (const name of twice(processes))
    found.push({ path: ['processes'], message: `two processes are named "${name}"` })
  for (const name of twice([...groups, ...called]))
    found.push({ path: ['workload'], message: `two groups are named "${name}"` })

  for (const [i, { agreement, client }] of scenario.workload.entries())
    if (agreement !== undefined && typeof client !== 'string')
      found.push({ path: ['workload', i, 'agreement'], message: 'an agreement is with one client' })

  const clients = scenario.clients.map(({ name }) => name)
  for (const name of twice(clients))
    found.push({ path: ['clients'], message: `two clients are named "${name}"` })
  if (clients.length > 0)
    for (const [i, { client }] of scenario.workload.entries())
      for (const name of [client ?? []].flat()) mustKnow('client', clients, name, ['workload', i, 'client'])

  const arriving = scenario.arrivals.flatMap((arrival) => arrival.groups)
  for (const name of twice(arriving))
    found.push({ path: ['arrivals'], message: `group "${name}" arrives twice` })
  for (const name of groups) {
    if (!arriving.includes(name)) found.push({ path: ['arrivals'], message: `group "${name}" never arrives` })
  }
  for (const [i, arrival] of scenario.arrivals.entries()) {
    for (const name of arrival.groups) mustKnow('group', groups, name, ['arrivals', i, 'groups'])
    for (const name of arrival.by ?? []) mustKnow('process', processes, name, ['arrivals', i, 'by'])
    checkTrigger(arrival.when, ['arrivals', i])
  }
  for (const [i, fault] of scenario.faults.entries()) {
    if ('process' in fault) mustKnow('process', processes, fault.process, ['faults', i, 'process'])
    if ('by' in fault)
      for (const name of [fault.by].flat()) mustKnow('process', processes, name, ['faults', i, 'by'])
    if ('group' in fault) mustKnow('group', groups, fault.group, ['faults', i, 'group'])
    if ('processes' in fault)
      for (const name of fault.processes) mustKnow('process', processes, name, ['faults', i, 'processes'])
    if ('when' in fault) checkTrigger(fault.when, ['faults', i])
  }
  for (const [i, expectation] of scenario.expect.entries()) {
    mustKnow('process', processes, expectation.process, ['expect', i, 'process'])
    mustKnow('group', known, expectation.group, ['expect', i, 'group'])
    mustKnow('target', targets, expectation.of, ['expect', i, 'of'])
    mustKnow('client', clients, expectation.client, ['expect', i, 'client'])
  }
  mustKnow('process', processes, scenario.figure.process, ['figure', 'process'])
  mustKnow('group', known, scenario.figure.group, ['figure', 'group'])
  mustKnow('target', targets, scenario.figure.of, ['figure', 'of'])
  mustKnow('client', clients, scenario.figure.client, ['figure', 'client'])
  return found
}
