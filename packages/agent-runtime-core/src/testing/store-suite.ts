import type { Digest } from '../config/environment.ts'
import { testDigest } from './sha256.ts'
import { admission } from './store-suite/admission.ts'
import { approvals } from './store-suite/approvals.ts'
import { budgets } from './store-suite/budgets.ts'
import { cancellation } from './store-suite/cancellation.ts'
import { children } from './store-suite/children.ts'
import { divergence } from './store-suite/divergence.ts'
import { demand } from './store-suite/demand.ts'
import { endings } from './store-suite/endings.ts'
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
import { Scene, type Time } from './store-suite/scene.ts'
import { schedules } from './store-suite/schedules.ts'
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

export { Scene, submission, type SceneSetting, type Time } from './store-suite/scene.ts'
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
  options: { readonly time?: Time; readonly digest?: Digest } = {},
): void {
  const { describe, test, expect } = tools
  const { time = 'virtual', digest = testDigest } = options
  const play = async (
    body: (scene: Scene) => Promise<void>,
    given: SceneOptions & { seed?: string } = {},
  ) => {
    await Scene.play(open, { ...given, time, digest }, async (scene) => {
      await body(scene)
      expect(await scene.violations()).toEqual([])
      if (!scene.hasBadOperation) expect(await scene.repeatedFlushes()).toBe(0)
    })
  }
  const suite: Suite = {
    expect,
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
    for (const [section, write] of Object.entries(sections)) describe(section, () => write(suite))
  })
}

const sections: Readonly<Record<string, (suite: Suite) => void>> = {
  'admission and backpressure (docs/semantics.md 2.1-2.5, 2.9)': admission,
  'keys and ids (docs/semantics.md 2.7, 12.0)': identity,
  'quotas (docs/semantics.md 2.6, 2.8, C4)': quotas,
  'tokens of quotas (docs/semantics.md 2.8)': quotaTokens,
  'quotas that a provider blocks (docs/semantics.md 2.8)': quotaBlocks,
  'the order of tasks (docs/semantics.md 3.3-3.5, 3.7)': order,
  'fair shares (docs/semantics.md 11, C5)': fairShares,
  'placement and the registry (docs/semantics.md 3.1, 3.2, C6)': placement,
  'standing demand (docs/ARCHITECTURE.md, The store)': demand,
  'tasks that are often lost to crashes (docs/semantics.md 3.9)': suspects,
  'leases and fencing (docs/semantics.md 1.4, 4, C7, C17)': leases,
  'how a task ends (docs/semantics.md 1.1, 4.4)': endings,
  'preemption (docs/semantics.md 3.6)': preemption,
  'cancellation (docs/semantics.md 5, C3)': cancellation,
  'steps, checkpoints, output (docs/semantics.md 7, 9)': steps,
  'waits and signals (docs/semantics.md 12.3, 12.4)': waits,
  'approvals (docs/semantics.md 12.1-12.3)': approvals,
  'divergence (docs/semantics.md 6.4)': divergence,
  'children (docs/semantics.md 5.5, 12.3, 13.3)': children,
  'budgets (docs/semantics.md 1.1, 2.1, 11.5)': budgets,
  'forks (docs/semantics.md 1.2, 6.3)': forks,
  'schedules (docs/semantics.md, Schedules)': schedules,
  'evaluations (docs/semantics.md 15.3)': evaluations,
  'circuits (docs/semantics.md 10.3, 10.5, C8-C11)': circuits,
  'leases that their callers hold (docs/semantics.md 10.1, 10.4)': heldLeases,
  'swarms (docs/semantics.md 10.6)': swarms,
  'events and hashes (docs/semantics.md 1.3, 1.6, 6.2)': events,
  reads: reads,
  'why a task is where it is (docs/semantics.md 1.5, 3, C5)': explains,
  'values (docs/semantics.md 7.4, 7.5)': values,
  'turns and commits (docs/semantics.md 1.3, 6.1)': turns,
}
