import type { ProfileSetting, ResourceLimits } from '@ku0/agent-runtime'
import type { SeededRandom } from '@ku0/agent-runtime-core/testing'
import type { Call, Program } from './program.ts'

/** What is asked of a store besides plain tasks. */
export interface Workload {
  /** Some tasks are of a type with a profile, and report what they use. */
  readonly profiles: boolean
  /** Clients run work of their own under leases that they hold. */
  readonly held: boolean
  /** Agents, some of them tasks and some held, share a budget. */
  readonly swarms: boolean
  /** Agents are judged. */
  readonly evaluations: boolean
  /** What has ended is forked, and tried again. */
  readonly forks: boolean
}

export const noWorkload: Workload = {
  profiles: false,
  held: false,
  swarms: false,
  evaluations: false,
  forks: false,
}

export function drawWorkload(random: SeededRandom): Workload {
  return {
    profiles: random.int(4) === 0,
    held: random.int(4) === 0,
    swarms: random.int(4) === 0,
    evaluations: random.int(4) === 0,
    forks: random.int(4) === 0,
  }
}

/** Whether anything is measured. */
export function measures({ profiles, held, swarms }: Workload): boolean {
  return profiles || held || swarms
}

/** The type of the tasks that are measured. */
export const MEASURED = 'measured'

/** What measured work is held to: short, so that it is over before a life is. */
export const profile: ProfileSetting = {
  profile: 'CUSTOM',
  config: {
    baselineLatencyMs: 100,
    baselineComputeUs: 1_000,
    baselineMemoryBytes: 1_000,
    maxDurationMs: 900,
    heartbeatRequired: true,
  },
}
export const limits: ResourceLimits = {
  soft: { memoryBytes: 600 },
  hard: { memoryBytes: 900, cpuTimeUs: 5_000 },
}
/** What the agents of a swarm have together. */
export const swarmTerms = {
  maxAgents: 3,
  sharedBudget: { totalCpuTimeUs: 6_000, totalMemoryBytes: 1_500 },
  threshold: 0.6,
} as const

/** What measured work says that it uses: seldom too much. */
export function drawReport(random: SeededRandom): Extract<Call, { call: 'report' }> {
  return {
    call: 'report',
    memoryBytes: random.int(12) === 0 ? 1_000 : random.int(800),
    computeUs: random.int(12) === 0 ? 6_000 : random.int(2_000),
  }
}

/** The same program, which now and then says what it uses. */
export function reporting(program: Program, random: SeededRandom): Program {
  return {
    ...program,
    calls: program.calls.flatMap((call) => (random.int(2) === 0 ? [drawReport(random), call] : [call])),
  }
}
