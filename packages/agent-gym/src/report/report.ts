import { z } from 'zod'
import { Kpis } from '../measure/kpis.ts'
import { criteria, difficulties } from '../scenario/scenario.ts'

/** Of the layout below. A field that changes its meaning raises it. */
export const SCHEMA_VERSION = 1

const Count = z.int().min(0)
const Time = z.iso.datetime()

const Tally = z.strictObject({
  total: Count,
  passed: Count,
  failed: Count,
  /** Passed of total, 0 to 1; 0 of none. */
  passRate: z.number().min(0).max(1),
  /** 100 x passed / total. */
  score: z.number().min(0).max(100),
})
export type Tally = z.infer<typeof Tally>

const FindingEntry = z.strictObject({
  measure: z.string(),
  expected: z.string(),
  measured: z.union([z.number(), z.string(), z.boolean()]).nullable(),
  unit: z.string(),
  /** On how many observations it rests. */
  samples: Count,
  pass: z.boolean(),
  reason: z.string().optional(),
  /** The value of each run, where one stands for several. */
  rounds: z.array(z.number()).optional(),
  sqliteRates: z.array(z.number()).optional(),
  cases: z.array(z.string()).optional(),
})

const ScenarioReport = z.strictObject({
  id: z.string(),
  title: z.string(),
  about: z.string(),
  category: z.string(),
  difficulty: z.enum(difficulties),
  acceptance: z.array(z.enum(criteria)),
  pass: z.boolean(),
  /** Why it failed. */
  reason: z.string().optional(),
  durationMs: z.number().min(0),
  /** The figure beside the verdict. */
  figure: z.string(),
  /** Settings of the runtime that differ from its defaults, and what else is particular. */
  settings: z.record(z.string(), z.unknown()),
  expectations: z.array(FindingEntry),
  kpis: Kpis,
  /** What clients were served while all had tasks queued; where the scenario names clients. */
  service: z
    .array(
      z.strictObject({
        client: z.string(),
        credits: z.number(),
        served: z.number(),
        /** Of all service, 0 to 1, and what it should be. */
        part: z.number(),
        due: z.number(),
      }),
    )
    .optional(),
  seed: z.int(),
  /** The command that runs it again. */
  repro: z.string(),
})
export type ScenarioReport = z.infer<typeof ScenarioReport>

const CriterionReport = z.strictObject({
  id: z.enum(criteria),
  title: z.string(),
  verdict: z.enum(['met', 'not met', 'not measured']),
  /** What it rests on: the figures of the scenarios that measure it. */
  evidence: z.array(z.string()),
})
export type CriterionReport = z.infer<typeof CriterionReport>

/** A run of the gym. Source: `docs/semantics.md 17.2`. */
export const Report = z.strictObject({
  schemaVersion: z.literal(SCHEMA_VERSION),
  runId: z.string(),
  startedAt: Time,
  finishedAt: Time,
  durationMs: z.number().min(0),
  seed: z.int(),
  env: z.strictObject({
    node: z.string(),
    platform: z.string(),
    arch: z.string(),
    cpu: z.string(),
    cpus: Count,
    memoryMb: Count,
    /** Running processes in the last minute, at the start: what else this machine was doing. */
    loadAverage: z.number(),
    store: z.string(),
    durability: z.string(),
    versions: z.record(z.string(), z.string()),
  }),
  suite: z.string(),
  summary: z.strictObject({
    total: Tally,
    byDifficulty: z.record(z.string(), Tally),
    byCategory: z.record(z.string(), Tally),
  }),
  /** Track AA's acceptance criteria. */
  acceptance: z.array(CriterionReport),
  kpis: Kpis,
  scenarios: z.array(ScenarioReport),
})
export type Report = z.infer<typeof Report>

/** Counts verdicts. */
export function tally(scenarios: readonly { readonly pass: boolean }[]): Tally {
  const total = scenarios.length
  const passed = scenarios.filter(({ pass }) => pass).length
  const passRate = total === 0 ? 0 : passed / total
  return { total, passed, failed: total - passed, passRate, score: 100 * passRate }
}
