import { join } from 'node:path'
import { approvalName, approvalTimeouts, lanes, rejectionPolicies, RESERVED } from '@ku0/agent-runtime-core'
import { type ModelRequest, type ModelSettlement, ReferenceModel } from '@ku0/agent-runtime-core/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openStore } from '../src/index.ts'
import {
  Advance,
  Cancel,
  type Command,
  config,
  Free,
  Leave,
  Real,
  Register,
  Release,
  Restart,
  seen,
  Settle,
  Signal,
  Step,
  Submit,
  Suspend,
} from './model-commands.ts'
import { Intend, Resolve } from './model-verdicts.ts'
import { scratchFolder } from './scratch-folder.ts'
import { tableViolations } from './tables.ts'

/** How many random lives are played; more of them by MODEL_RUNS. */
const runs = Number(process.env['MODEL_RUNS'] ?? 80)

const which = fc.nat(21)
const value = fc.constantFrom('null', '1', '"x"', '{"$ku0":["undefined"]}')
const said = fc.constantFrom('{}', '{"by":"Ada","feedback":"no"}')
const delay = fc.constantFrom(0, 0, 0, 1, 250, 1_000)
const settlement = fc.oneof<fc.Arbitrary<ModelSettlement>[]>(
  fc.record({ as: fc.constant('completed' as const), value }),
  fc.record({
    as: fc.constant('failed' as const),
    value,
    kind: fc.constantFrom('error' as const, 'timeout' as const),
  }),
  fc.record({ as: fc.constant('retry' as const), value, delayMs: delay }),
)
const keys = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8']
const request = fc
  .tuple(fc.nat(keys.length - 1), fc.boolean(), fc.constantFrom(0, 1, 250, 1_000, 5_000), fc.boolean())
  .map(([n, isTimer, delayMs, hasPatience]): ModelRequest => {
    const wait = { key: keys[n] ?? '', position: n }
    if (isTimer) return { ...wait, kind: 'timer', delayMs }
    return {
      ...wait,
      kind: 'signal',
      name: n % 2 === 0 ? 'even' : 'odd',
      delayMs: hasPatience ? delayMs : undefined,
    }
  })
/** A back-off is a timer of the runtime's own, which a rejection makes void as well. */
const backOff = fc.constantFrom(0, 250).map((delayMs): ModelRequest => ({
  key: `${RESERVED}retry/1/s1`,
  position: 8,
  kind: 'timer',
  delayMs,
}))
const approvals = ['a1', 'a2', 'a3']
const approval = fc
  .tuple(
    fc.nat(approvals.length - 1),
    fc.option(fc.constantFrom(0, 250, 1_000), { nil: undefined }),
    fc.record({
      asked: fc.constantFrom(true, true, true, false),
      maxRetries: fc.constantFrom(0, 1, 5, 5, 5),
      onReject: fc.constantFrom(...rejectionPolicies, 'rerun' as const),
      onTimeout: fc.constantFrom(...approvalTimeouts),
    }),
  )
  .map(([n, delayMs, terms]): ModelRequest => {
    const key = approvals[n] ?? ''
    return { key, position: 9 + n, kind: 'approval', name: approvalName(key), delayMs, approval: terms }
  })
const requests = fc.uniqueArray(fc.oneof(request, request, request, backOff, approval, approval), {
  minLength: 1,
  maxLength: 3,
  selector: ({ key }) => key,
})
const often = (weight: number, arbitrary: fc.Arbitrary<Command>) =>
  Array.from({ length: weight }, () => arbitrary)
const commands = [
  ...often(
    5,
    fc
      .tuple(
        fc.constantFrom(...lanes),
        fc.constantFrom('a', 'b'),
        fc.constantFrom('1', '2'),
        fc.option(fc.constantFrom('k1', 'k2', 'k3'), { nil: undefined, freq: 3 }),
        delay,
      )
      .map((it) => new Submit(...it)),
  ),
  ...often(
    2,
    fc
      .tuple(fc.integer({ min: 1, max: 3 }), fc.constantFrom(['*'], ['*'], ['a'], ['b']))
      .map((it) => new Register(...it)),
  ),
  ...often(
    4,
    which.map((it) => new Free(it)),
  ),
  ...often(
    4,
    fc.tuple(which, fc.constantFrom('s1', 's2', '\ud800'), value).map((it) => new Step(...it)),
  ),
  ...often(
    7,
    fc
      .tuple(which, requests, fc.boolean())
      .map(([n, asked, stay]) => new Suspend(n, asked, stay && n % 3 === 0)),
  ),
  ...often(
    5,
    fc
      .tuple(which, fc.constantFrom('approved' as const, 'rejected' as const, 'rejected' as const), said)
      .map((it) => new Resolve(...it)),
  ),
  ...often(
    2,
    fc
      .tuple(
        which,
        fc.constantFrom('s1', 's2'),
        fc.constantFrom(undefined, undefined, 'error' as const, 'timeout' as const),
      )
      .map((it) => new Intend(...it)),
  ),
  ...often(
    3,
    fc.tuple(which, fc.constantFrom('even', 'odd', 'none'), value).map((it) => new Signal(...it)),
  ),
  ...often(
    3,
    fc.tuple(which, settlement).map((it) => new Settle(...it)),
  ),
  ...often(
    1,
    fc.tuple(which, fc.constantFrom('yielded' as const, 'drained' as const)).map((it) => new Release(...it)),
  ),
  ...often(
    1,
    which.map((it) => new Cancel(it)),
  ),
  ...often(
    3,
    fc
      .tuple(
        fc.constantFrom(1, 299, 300, 301, 999, 1_000, 1_001, 5_000),
        fc.constantFrom(undefined, -1, 0, 0, 1),
      )
      .map((it) => new Advance(...it)),
  ),
  ...often(
    1,
    fc.tuple(which, fc.constantFrom('drain' as const, 'remove' as const)).map((it) => new Leave(...it)),
  ),
]

/** A life begins with a worker, so that there is something to lose. */
const lifeOf = (some: readonly fc.Arbitrary<Command>[]) =>
  fc.commands([...some], { maxCommands: 180, size: 'max' }).map((list) => [new Register(2, ['*']), ...list])

describe('whatever is done to a store, it does what the reference model does (docs/reliability.md 3.2)', () => {
  test('in memory', { timeout: 600_000 }, async () => {
    const life = fc.assert(
      fc.asyncProperty(lifeOf(commands), async (list) => {
        const real = new Real((given, environment) =>
          openStore('sqlite::memory:', { config: given, environment }),
        )
        await real.open()
        try {
          await fc.asyncModelRun(
            () => ({ model: new ReferenceModel(config, real.environment.clock.now()), real }),
            list,
          )
        } finally {
          await real.scene.store.close()
        }
      }),
      { numRuns: runs },
    )
    await expect(life).resolves.toBeUndefined()
  })

  test('in a file that is closed and opened again at any time', { timeout: 600_000 }, async () => {
    const folder = scratchFolder()
    let files = 0
    await fc.assert(
      fc.asyncProperty(lifeOf([...commands, fc.constant(new Restart())]), async (list) => {
        const path = join(folder, `${files++}.db`)
        const real = new Real((given, environment) =>
          openStore(`sqlite:${path}`, { config: given, environment, durability: 'normal' }),
        )
        await real.open()
        try {
          await fc.asyncModelRun(
            () => ({ model: new ReferenceModel(config, real.environment.clock.now()), real }),
            list,
          )
        } finally {
          await real.scene.store.close()
        }
        expect(tableViolations(path, config)).toEqual([])
      }),
      { numRuns: Math.ceil(runs / 2) },
    )
  })

  test('and all that can happen has happened', () => {
    const least: Readonly<Record<string, number>> = {
      accepted: 4,
      deduplicated: 0.5,
      idempotency_conflict: 1,
      queue_full: 0.1,
      backpressure: 0.05,
      step: 1,
      memo: 0.2,
      completed: 0.5,
      failed: 0.5,
      retry: 0.5,
      'settled again': 0.03,
      'stale settle': 1,
      'stale step': 1,
      'stale release': 0.5,
      release: 0.5,
      wait: 0.5,
      'over at once': 0.3,
      stay: 0.1,
      woken: 0.05,
      'signal kept': 0.5,
      'signal in vain': 0.3,
      'rejected while waiting': 0.1,
      'rejected while running': 0.08,
      'approved while waiting': 0.04,
      'the last rejection': 0.3,
      'sent back by what had come': 0.05,
      'made void': 0.01,
      'verdict in vain': 1,
      intent: 0.3,
      'failed try': 0.3,
      cancel: 1,
      expired: 1,
      edge: 2,
      drain: 0.3,
      remove: 0.3,
      restart: 0.5,
    }
    if (seen.size === 0) return
    if (process.env['MODEL_RUNS'] !== undefined) console.log(Object.fromEntries(seen))
    const tooFew = Object.entries(least).flatMap(([what, perRun]) => {
      const times = seen.get(what) ?? 0
      return times < perRun * runs ? [`${what}: ${times} times in ${runs} runs`] : []
    })
    expect(tooFew).toEqual([])
  })
})
