import { workloadProfiles } from '@ku0/agent-runtime-core'
import { z } from 'zod'

const Target = z.string().min(1).max(255)
const Times = z.int().min(1).max(1000)
const Ms = z.int().min(0).max(600_000)

/** A profile's word, or a config of its own. The runtime says what is wrong with either. */
const Profile = z.union([
  z.enum(workloadProfiles).exclude(['CUSTOM']),
  z.strictObject({ profile: z.literal('CUSTOM'), config: z.record(z.string(), z.unknown()) }),
])
const Limits = z.strictObject({
  soft: z.record(z.string(), z.number()).optional(),
  hard: z.record(z.string(), z.number()).optional(),
})
/** What a heartbeat reports. */
const usage = { computeUs: z.int().min(0).optional(), memoryUsed: z.int().min(0).optional() }

/** What a process calls of its runtime besides submitting, one after the other. */
export const Call = z.discriminatedUnion('call', [
  /** Asks whether the route takes work, does it for so long, and tells how long it took; so many times. */
  z.strictObject({
    call: z.literal('route'),
    of: Target,
    profile: Profile.optional(),
    times: Times.default(1),
    workMs: Ms,
  }),
  /** The same until it is let in, waiting as long as it is told to. */
  z.strictObject({ call: z.literal('probe'), of: Target, profile: Profile.optional(), workMs: Ms }),
  /** Works under a lease of its own, with heartbeats in between, and gives it back; or keeps it until the process is gone. */
  z.strictObject({
    call: z.literal('lease'),
    of: Target,
    profile: Profile.optional(),
    limits: Limits.optional(),
    beats: z.int().min(0).max(1000).default(1),
    beatMs: Ms.default(10),
    ...usage,
    end: z.enum(['release', 'keep']).default('release'),
  }),
  /** Makes or joins a swarm. */
  z.strictObject({
    call: z.literal('swarm'),
    of: Target,
    profile: Profile.optional(),
    maxAgents: z.int().min(1).optional(),
    sharedBudget: z.record(z.string(), z.number()).optional(),
    threshold: z.number().optional(),
  }),
  /** Spawns so many agents that this process runs itself. */
  z.strictObject({ call: z.literal('spawn'), of: Target, times: Times.default(1) }),
  /** A heartbeat of the first so many agents of this process that are left; of all where nothing is said. */
  z.strictObject({ call: z.literal('report'), of: Target, agents: Times.optional(), ...usage }),
  /** Gives back the leases of all agents of this process. */
  z.strictObject({ call: z.literal('release'), of: Target }),
  /** Judges an agent's work so many times: in each dimension a level, and a noise up or down that is drawn from the seed. */
  z.strictObject({
    call: z.literal('judge'),
    of: Target,
    times: Times,
    level: z.number().min(0).max(1),
    noise: z.number().min(0).max(1).default(0),
  }),
  /** Buys credits for a client, so many times, each with a key of its own: several processes that make one call buy together once. */
  z.strictObject({
    call: z.literal('buy'),
    of: Target,
    amount: z.number().positive(),
    times: Times.default(1),
  }),
  /** Waits until so many tasks wait because their clients are out of credits. */
  z.strictObject({ call: z.literal('await-parked'), of: Target, tasks: z.int().min(1) }),
])
export type Call = z.infer<typeof Call>

/** What calls are answered with, besides the reasons of refused submissions. */
export const callOutcomes = [
  'admitted',
  'probing',
  'refused',
  'granted',
  'kept',
  'released',
  'exceeded',
  'canceled',
  'opened',
  'reported',
  'judged',
  'drifted',
  'bought',
  'bought-before',
  'parked',
] as const
