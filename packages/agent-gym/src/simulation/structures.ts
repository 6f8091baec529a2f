import {
  defineAgreement,
  definePipeline,
  defineSupervisor,
  defineTask,
  type Agreement,
  type TaskContext,
  type TaskDefinition,
} from '@ku0/agent-runtime'
import {
  type ChildRestart,
  type OutOfCredits,
  outOfCreditsChoices,
  supervisionStrategies,
} from '@ku0/agent-runtime-core'
import type { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { z } from 'zod'
import { drawProgram, MAX_ATTEMPTS, type Program } from './program.ts'

/** What is built of tasks, and what clients have agreed to. */
export interface Structures {
  /** Supervisors watch some tasks. */
  readonly supervisors: boolean
  /** Pipelines stream events between their stages. */
  readonly pipelines: boolean
  /** Credits are a ledger: what happens when they run out; undefined where they are not. */
  readonly ledger: OutOfCredits | undefined
  /** Some submissions come under an agreement. */
  readonly agreements: boolean
  /** Some supervisors have a permanent child. */
  readonly permanents: boolean
  /** Clients start, stop and restart children of supervisors. */
  readonly outside: boolean
  /** The children of some supervisors come after the first, with its result. */
  readonly inTurn: boolean
  /** Some pipelines have a stage with partitions. */
  readonly partitions: boolean
  /** Old entries of ledgers are folded. */
  readonly folds: boolean
  /** Some tasks have a table of recovery. */
  readonly recoveries: boolean
  /** Some tasks are handed over to another one after a failure. */
  readonly handOvers: boolean
}

export const noStructures: Structures = {
  supervisors: false,
  pipelines: false,
  ledger: undefined,
  agreements: false,
  permanents: false,
  outside: false,
  inTurn: false,
  partitions: false,
  folds: false,
  recoveries: false,
  handOvers: false,
}

/** `late` draws what there was not always: without it a seed draws the rest as it does with it. */
export function drawStructures(random: SeededRandom, late: SeededRandom | undefined): Structures {
  const structures = {
    permanents: late?.int(2) === 0,
    partitions: late?.int(2) === 0,
    supervisors: random.int(4) === 0,
    pipelines: random.int(4) === 0,
    ledger: random.int(4) === 0 ? random.pick(outOfCreditsChoices) : undefined,
    agreements: random.int(4) === 0,
  }
  return {
    ...structures,
    folds: structures.ledger !== undefined && late?.int(2) === 0,
    recoveries: late?.fork('recoveries').int(4) === 0,
    handOvers: late?.fork('hand-overs').int(4) === 0,
    inTurn: structures.supervisors && late?.fork('in turn').int(2) === 0,
    outside: structures.supervisors && late?.fork('children from outside').int(2) === 0,
  }
}

/** How old entries of ledgers are folded: soon, and by every process. */
export const foldingRules = {
  completed: 'forever',
  failed: 'forever',
  canceled: 'forever',
  ledger: { ageMs: 400 },
  keysMs: 600,
  everyMs: 250,
} as const

/** The credits that a client begins with where they are a ledger: few enough to run out. */
export const startCredits = 12

/** The terms of all supervisors. */
export const supervisorTerms = { maxRestarts: 2, periodMs: 1_000 } as const
/** Their children, in order; the last is not started again. */
const childIds = ['first', 'second', 'last'] as const
/** The same of supervisors with a permanent child. */
const steadyIds = ['first', 'second', 'steady', 'last'] as const
/** When each is started again. */
export const restartOf: Readonly<Record<string, ChildRestart>> = {
  first: 'transient',
  second: 'transient',
  steady: 'permanent',
  last: 'temporary',
}

/** A supervisor is a program without calls of its own. */
export interface SupervisorProgram extends Program {
  readonly children: readonly Program[]
}

/** The same of a pipeline. */
export interface PipelineProgram extends Program {
  readonly events: number
  readonly batch: number
  /** The stages that throw in their first attempt, in the middle. */
  readonly throws: readonly string[]
  /** The tasks of the stage in the middle; absent if that is one. */
  readonly partitions?: number
  /** Whether its events have keys. */
  readonly keyed?: boolean
}

/** The key of a number. */
export function keyOf(n: number): string {
  return `key ${n % 3}`
}

type Strategy = (typeof supervisionStrategies)[number]

function supervisorType(strategy: Strategy): string {
  return `team ${strategy}`
}

/** One whose second child is a supervisor itself, of the next strategy. */
function upperType(strategy: Strategy): string {
  return `team ${strategy} of teams`
}

function lowerStrategy(strategy: Strategy): Strategy {
  const { length } = supervisionStrategies
  return supervisionStrategies[(supervisionStrategies.indexOf(strategy) + 1) % length] ?? strategy
}
const PIPELINE = 'line'
const PARTED = 'parted line'
/** The partitions of its second stage. */
const partitions = 2

function steadyType(type: string): string {
  return `${type}, one steady`
}

/** The agreements that submissions come under, by name. */
export const agreements: Readonly<Record<string, Agreement>> = {
  gold: defineAgreement({
    name: 'gold',
    client: 'ann',
    lane: 'interactive',
    oversight: 'supervised',
    outOfCredits: 'run',
  }),
  thrifty: defineAgreement({ name: 'thrifty', client: 'bob', lane: 'batch', outOfCredits: 'reject' }),
  patient: defineAgreement({ name: 'patient', client: 'cyd', oversight: 'spot_check', outOfCredits: 'park' }),
}

/** A supervisor whose children crash: some once too often. */
export function drawSupervisor(
  random: SeededRandom,
  name: string,
): { type: string; program: SupervisorProgram } {
  const child = (id: string): Program => {
    const program = drawProgram(random, `${name}/${id}`, undefined, 2)
    const attempts = random.pick([0, 0, MAX_ATTEMPTS, MAX_ATTEMPTS + 1, MAX_ATTEMPTS + 2, 100])
    return attempts === 0 ? program : { ...program, calls: [...program.calls, { call: 'throw', attempts }] }
  }
  const team = (of: string): SupervisorProgram => ({
    name: of,
    calls: [],
    children: childIds.map((id) => child(`${of === name ? '' : 'second/'}${id}`)),
  })
  const strategy = random.pick(supervisionStrategies)
  const program = team(name)
  if (random.int(2) === 0) return { type: supervisorType(strategy), program }
  const [first, , last] = program.children
  const children = [first, team(`${name}/second`), last] as readonly Program[]
  return { type: upperType(strategy), program: { ...program, children } }
}

/** The same supervisor, whose other children come after the first. */
export function inTurn({ type, program }: ReturnType<typeof drawSupervisor>): {
  type: string
  program: SupervisorProgram
} {
  return { type: inTurnType(type), program }
}

function inTurnType(type: string): string {
  return `${type}, in turn`
}

/** A child from outside: it crashes some times, or never. */
export function drawOutside(random: SeededRandom, name: string): Program {
  const program = drawProgram(random, name, undefined, 1)
  const attempts = random.pick([0, MAX_ATTEMPTS, MAX_ATTEMPTS + 1])
  return attempts === 0 ? program : { ...program, calls: [...program.calls, { call: 'throw', attempts }] }
}

/**
 * The supervisor with a permanent child more. It is quick, so that in the end it has completed too often, and the supervisor is over: there is nobody who
 * stops it.
 */
export function withSteady({ type, program }: ReturnType<typeof drawSupervisor>): {
  type: string
  program: SupervisorProgram
} {
  const step = { call: 'step', key: 'step 1', ms: 5, throws: 0, inDoubt: 'retry', deaf: false } as const
  const steady: Program = { name: `${program.name}/steady`, calls: [step] }
  const children = [...program.children.slice(0, -1), steady, ...program.children.slice(-1)]
  return { type: steadyType(type), program: { ...program, children } }
}

/** The pipeline with a stage of several tasks. */
export function withPartitions(
  { program }: ReturnType<typeof drawPipeline>,
  random: SeededRandom,
): { type: string; program: PipelineProgram } {
  return { type: PARTED, program: { ...program, partitions, keyed: random.int(2) === 0 } }
}

export function drawPipeline(random: SeededRandom, name: string): { type: string; program: PipelineProgram } {
  const throws = ['source', 'double', 'sink'].filter(() => random.int(4) === 0)
  const program = { name, calls: [], events: 2 + random.int(12), batch: 1 + random.int(4), throws }
  return { type: PIPELINE, program }
}

/** How a step is done: by the simulation, which sees it. */
export type DoStep = (ctx: TaskContext, key: string, ms: number) => Promise<unknown>

/** The types of supervisors and pipelines. `program`: what children of supervisors are. */
export function structuredTasks(
  { supervisors, pipelines, permanents, inTurn: takesTurns }: Structures,
  program: TaskDefinition,
  step: DoStep,
): TaskDefinition[] {
  return [...(supervisors ? teams(program, permanents, takesTurns) : []), ...(pipelines ? lineOf(step) : [])]
}

function teams(program: TaskDefinition, permanents: boolean, takesTurns: boolean): TaskDefinition[] {
  const lower = new Map(
    supervisionStrategies.map((strategy) => [
      strategy,
      teamOf(supervisorType(strategy), strategy, [program]),
    ]),
  )
  const upper = supervisionStrategies.map((strategy) =>
    teamOf(upperType(strategy), strategy, [program, lower.get(lowerStrategy(strategy)) ?? program]),
  )
  const turns = supervisionStrategies.flatMap((strategy) => {
    const below = lower.get(lowerStrategy(strategy)) ?? program
    return [
      teamOf(inTurnType(supervisorType(strategy)), strategy, [program], childIds, 'first'),
      teamOf(inTurnType(upperType(strategy)), strategy, [program, below], childIds, 'first'),
    ]
  })
  const plain = [...lower.values(), ...upper, ...(takesTurns ? turns : [])]
  if (!permanents) return plain
  const steady = supervisionStrategies.flatMap((strategy) => [
    teamOf(steadyType(supervisorType(strategy)), strategy, [program], steadyIds),
    teamOf(
      steadyType(upperType(strategy)),
      strategy,
      [program, lower.get(lowerStrategy(strategy)) ?? program],
      steadyIds,
    ),
  ])
  return [...plain, ...steady]
}

function teamOf(
  type: string,
  strategy: Strategy,
  [program, second = program]: readonly [program: TaskDefinition, second?: TaskDefinition],
  ids: readonly string[] = childIds,
  /** The child that the others come after. */
  before?: string,
): TaskDefinition {
  const children = ids.map((id, place) => [
    id,
    {
      task: id === 'second' ? second : program,
      restart: restartOf[id],
      ...(before === undefined || id === before
        ? { input: (given: SupervisorProgram) => given.children[place] }
        : {
            after: [before],
            input: (given: SupervisorProgram, results: object) => ({
              ...given.children[place],
              after: results,
            }),
          }),
    },
  ])
  return defineSupervisor({
    type,
    input: z.custom<SupervisorProgram>(),
    strategy,
    ...supervisorTerms,
    children: Object.fromEntries(children) as never,
  }) as TaskDefinition
}

/** Fewer than a batch or two: stages wait for each other. */
const maxUnread = 4

function lineOf(step: DoStep): TaskDefinition[] {
  const input = z.custom<PipelineProgram>()
  const retry = { attempts: MAX_ATTEMPTS, backoff: { initialMs: 20, maxMs: 60 } }
  const mayThrow = (ctx: TaskContext, { throws, name }: PipelineProgram, isMiddle: boolean) => {
    const [, stage = ''] = name.split('/')
    if (isMiddle && ctx.attempt === 1 && throws.includes(stage)) throw new Error('as planned')
  }
  const source = defineTask({ type: 'source', input, retry }, async (ctx, given) => {
    const { events, batch } = given
    for (let from = 0; from < events; from += batch) {
      await step(ctx, `step ${from}`, 5)
      const numbers = Array.from({ length: Math.min(batch, events - from) }, (_, i) => from + i)
      await ctx.publishAll('n', numbers, given.keyed === true ? { key: keyOf } : {})
      mayThrow(ctx, given, from === 0)
    }
    return []
  })
  const double = defineTask({ type: 'double', input, retry }, async (ctx, given) => {
    for (let turn = 0; ; turn += 1) {
      const events = await ctx.receive<number>(['n'], { max: given.batch + 1 })
      if (events.length === 0) return []
      await step(ctx, `step ${turn}`, 20)
      await ctx.publishAll(
        'm',
        events.map(({ data }) => 2 * data),
      )
      mayThrow(ctx, given, turn === 0)
    }
  })
  const sink = defineTask({ type: 'sink', input, retry }, async (ctx, given) => {
    const all: number[] = []
    for (let turn = 0; ; turn += 1) {
      const events = await ctx.receive<number>(['m'], { max: given.batch })
      if (events.length === 0) return [['sum', all]]
      all.push(...events.map(({ data }) => data))
      mayThrow(ctx, given, turn === 0)
    }
  })
  const of = (stage: string) => (given: PipelineProgram, partition: number) => {
    const isParted = stage === 'double' && given.partitions !== undefined
    return { ...given, name: `${given.name}/${stage}${isParted ? `/${partition}` : ''}` }
  }
  const n = z.number()
  const m = z.number()
  const pipelineOf = (name: string, parts: number) =>
    definePipeline({
      name,
      input,
      maxUnread,
      stages: [
        { name: 'source', task: source, input: of('source'), publishes: { n } },
        {
          name: 'double',
          task: double,
          input: of('double'),
          subscribes: ['n'],
          publishes: { m },
          partitions: parts,
        },
        { name: 'sink', task: sink, input: of('sink'), subscribes: ['m'] },
      ],
    })
  return [pipelineOf(PIPELINE, 1), pipelineOf(PARTED, partitions), source, double, sink] as TaskDefinition[]
}
