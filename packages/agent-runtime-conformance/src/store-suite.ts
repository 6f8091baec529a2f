import type { Digest } from '@ku0/agent-runtime-core'
import { testDigest } from '@ku0/agent-runtime-core/testing'
import { admission } from './store-suite/admission.ts'
import { approvals } from './store-suite/approvals.ts'
import { budgets } from './store-suite/budgets.ts'
import { cancellation } from './store-suite/cancellation.ts'
import { children } from './store-suite/children.ts'
import { pipelines } from './store-suite/pipelines.ts'
import { supervision } from './store-suite/supervision.ts'
import { divergence } from './store-suite/divergence.ts'
import { demand } from './store-suite/demand.ts'
import { endings } from './store-suite/endings.ts'
import { credits } from './store-suite/credits.ts'
import { evaluations } from './store-suite/evaluations.ts'
import { events } from './store-suite/events.ts'
import { explains } from './store-suite/explain.ts'
import { forks } from './store-suite/forks.ts'
import { identity } from './store-suite/identity.ts'
import { leases } from './store-suite/leases.ts'
import { order } from './store-suite/order.ts'
import { placement } from './store-suite/placement.ts'
import { preemption } from './store-suite/preemption.ts'
import { quotaBlocks } from './store-suite/quota-blocks.ts'
import { quotaTokens } from './store-suite/quota-tokens.ts'
import { quotas } from './store-suite/quotas.ts'
import { reads } from './store-suite/reads.ts'
import { series } from './store-suite/series.ts'
import { Scene, type Quiet, type Time } from './store-suite/scene.ts'
import { access } from './store-suite/access.ts'
import { schedules } from './store-suite/schedules.ts'
import { retention } from './store-suite/retention.ts'
import { fairShares } from './store-suite/shares.ts'
import { steps } from './store-suite/steps.ts'
import { suspects } from './store-suite/suspects.ts'
import type { SceneOptions, Suite } from './store-suite/suite.ts'
import type { OpenStore, TestTools } from './store-suite/tools.ts'
import { turns } from './store-suite/turns.ts'
import { values } from './store-suite/values.ts'
import { circuits } from './store-suite/circuits.ts'
import { heldLeases } from './store-suite/held-leases.ts'
import { swarms } from './store-suite/swarms.ts'
import { waits } from './store-suite/waits.ts'

export { Scene, submission, type Quiet, type SceneSetting, type Time } from './store-suite/scene.ts'
export type { Matchers, Opening, OpenStore, TestTools } from './store-suite/tools.ts'

/**
 * The conformance suite of the store port: a test for each rule of `docs/semantics.md` 1 to 7, 10 to 12 and 15 that the port can show. A store
 * is done when it passes. After each test the store is searched for broken invariants. `open` gives a new, empty store each time; one that does not run on the virtual time it is handed
 * says `time: 'real'`, and the tests that move time are skipped in the open; `digest` is a faster one. Source: `docs/ARCHITECTURE.md`, The store.
 */
export function storeSuite(
  name: string,
  open: OpenStore,
  tools: TestTools,
  options: {
    readonly time?: Time
    /** For a store on virtual time that waits for a server: see {@link Quiet}. */
    readonly quiet?: Quiet
    readonly digest?: Digest
    /** Some of {@link suiteSections}, so that a test runner can divide the suite; all of them by default. */
    readonly sections?: readonly string[]
    /** The part of its seeds that a drawn rule plays: all of them, 1, by default. */
    readonly draws?: number
  } = {},
): void {
  const { describe, test, expect } = tools
  const {
    time = 'virtual',
    digest = testDigest,
    quiet,
    sections: wanted = suiteSections,
    draws = 1,
  } = options
  const play = async (
    body: (scene: Scene) => Promise<void>,
    given: SceneOptions & { seed?: string } = {},
  ) => {
    await Scene.play(open, { ...given, time, digest, quiet }, async (scene) => {
      await body(scene)
      expect(await scene.violations()).toEqual([])
      if (!scene.hasBadOperation) expect(await scene.repeatedFlushes()).toBe(0)
    })
  }
  const suite: Suite = {
    expect,
    seeds: (all) => Math.ceil(all * draws),
    rule: (title, body, given) => test(title, () => play(body, given)),
    timed: (title, body, given) => {
      if (time === 'real') test.skip(title, () => Promise.resolve())
      else test(title, () => play(body, given))
    },
    twice: (title, script, given) => {
      if (time === 'real') test.skip(title, () => Promise.resolve())
      else test(title, () => script((body, seed) => play(body, { ...given, ...seed })))
    },
  }
  describe(name, () => {
    for (const section of wanted) {
      const write = sections[section]
      if (write === undefined) throw new Error(`the suite has no section '${section}': see suiteSections`)
      describe(`${section} (${write.rules})`, () => write.tests(suite))
    }
  })
}

const sections: Readonly<Record<string, { readonly rules: string; readonly tests: (suite: Suite) => void }>> =
  {
    'admission and backpressure': { rules: 'docs/semantics.md 2.1-2.5, 2.9', tests: admission },
    'keys and ids': { rules: 'docs/semantics.md 2.7, 12.0', tests: identity },
    quotas: { rules: 'docs/semantics.md 2.6, 2.8, C4', tests: quotas },
    'tokens of quotas': { rules: 'docs/semantics.md 2.8', tests: quotaTokens },
    'quotas that a provider blocks': { rules: 'docs/semantics.md 2.8', tests: quotaBlocks },
    'the order of tasks': { rules: 'docs/semantics.md 3.3-3.5, 3.7', tests: order },
    'fair shares': { rules: 'docs/semantics.md 11, C5', tests: fairShares },
    credits: { rules: 'docs/semantics.md 11.8, 11.9', tests: credits },
    'placement and the registry': { rules: 'docs/semantics.md 3.1, 3.2, C6', tests: placement },
    'standing demand': { rules: 'docs/ARCHITECTURE.md, The store', tests: demand },
    'tasks that are often lost to crashes': { rules: 'docs/semantics.md 3.9', tests: suspects },
    'leases and fencing': { rules: 'docs/semantics.md 1.4, 4, C7, C17', tests: leases },
    'how a task ends': { rules: 'docs/semantics.md 1.1, 4.4', tests: endings },
    preemption: { rules: 'docs/semantics.md 3.6', tests: preemption },
    cancellation: { rules: 'docs/semantics.md 5, C3', tests: cancellation },
    'steps, checkpoints, output': { rules: 'docs/semantics.md 7, 9', tests: steps },
    'waits and signals': { rules: 'docs/semantics.md 12.3, 12.4', tests: waits },
    approvals: { rules: 'docs/semantics.md 12.1-12.3', tests: approvals },
    divergence: { rules: 'docs/semantics.md 6.4', tests: divergence },
    children: { rules: 'docs/semantics.md 5.5, 12.3, 13.3', tests: children },
    pipelines: { rules: 'docs/semantics.md 13.1, 13.2', tests: pipelines },
    supervision: { rules: 'docs/semantics.md 14.1, 14.2', tests: supervision },
    budgets: { rules: 'docs/semantics.md 1.1, 2.1, 11.5', tests: budgets },
    forks: { rules: 'docs/semantics.md 1.2, 6.3', tests: forks },
    retention: { rules: 'docs/semantics.md 6.6', tests: retention },
    schedules: { rules: 'docs/semantics.md, Schedules', tests: schedules },
    'access tokens': { rules: 'docs/decisions/0068-tokens-in-the-store.md', tests: access },
    evaluations: { rules: 'docs/semantics.md 15.3', tests: evaluations },
    circuits: { rules: 'docs/semantics.md 10.3, 10.5, C8-C11', tests: circuits },
    'leases that their callers hold': { rules: 'docs/semantics.md 10.1, 10.4', tests: heldLeases },
    swarms: { rules: 'docs/semantics.md 10.6', tests: swarms },
    'events and hashes': { rules: 'docs/semantics.md 1.3, 1.6, 6.2', tests: events },
    reads: { rules: 'docs/semantics.md', tests: reads },
    series: { rules: 'docs/decisions/0047-series-from-leases.md', tests: series },
    'why a task is where it is': { rules: 'docs/semantics.md 1.5, 3, C5', tests: explains },
    values: { rules: 'docs/semantics.md 7.4, 7.5', tests: values },
    'turns and commits': { rules: 'docs/semantics.md 1.3, 6.1', tests: turns },
  }

/** The names of the suite's sections, in their order. */
export const suiteSections: readonly string[] = Object.keys(sections)
