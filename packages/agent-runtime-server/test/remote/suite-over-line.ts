import { createHash, hash } from 'node:crypto'
import { storeSuite, suiteSections } from '@ku0/agent-runtime-conformance'
import type { Environment, ExecutionConfig, ExecutionStore } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { CheckedStore } from '../../../agent-runtime-persistence/src/checked/checked-store.ts'
import { someTests } from '../../../agent-runtime-persistence/test/helpers/some-tests.ts'
import { quietLine, storeOverLine } from './memory-line.ts'

// Leases that their callers hold are not kept over a line.
const ofCallers = new Set(['leases that their callers hold', 'swarms'])

/** What the suite asks of a store that a line does not do, each with the reason. */
const otherwise: readonly (readonly [title: string, reason: string])[] = [
  ['3.3 301 slots freed at once', 'counts commits: what crosses a line arrives in another grouping'],
  ['C6 a worker is idle, busy', 'all processes on lines have one row in the store, named remote'],
  ['C8 a probe that is lost to a crash', 'holds a lease of its caller'],
  ['C8 silence is that of a live lease', 'holds a lease of its caller'],
  // Time jumps past timers and through them, and nothing passes over the line meanwhile: to both ends it is a black hole of that length, in
  // which the process gives up its leases by itself and hears no events by name. cuts.proof.test.ts has what it does then.
  ...[
    '4.2 a process that wakes a millisecond before the end',
    'B04 4.2 at expiresAt exactly it has lost it',
    '3.5 leases that expire in one tick',
    '5.4 a handler that leaks after its lease expired',
    '1.3 the names of leases and preemptions',
    '1.5 a rejection keeps the circuit',
  ].map((title) => [title, 'a jump of time is a black hole'] as const),
]

/** The store behind the line: how it is opened, and whether it still waits for its database, where that is one that it waits for. */
export interface Behind {
  readonly open?: (config: ExecutionConfig, environment: Environment) => Promise<ExecutionStore>
  readonly quiet?: (store: ExecutionStore) => Promise<boolean>
  /** Which of the rules a landing proves. */
  readonly from: number
}

/** The rules of the store, each on a store that a line leads to. */
export function suiteOverLine(name: string, { open, quiet, from }: Behind): void {
  const opened = new WeakMap<ExecutionStore, Awaited<ReturnType<typeof storeOverLine>>>()
  const left = new Set(otherwise.map(([title]) => title))
  const some = someTests(from)
  const overLine = Object.assign(
    (title: string, body: () => Promise<void>) => {
      const known = [...left].find((it) => title.startsWith(it))
      if (known === undefined) some.test(title, body)
      else left.delete(known)
    },
    { skip: test.skip },
  )

  storeSuite(
    name,
    async ({ config, environment }) => {
      const over = await storeOverLine(config, environment, await open?.(config, environment))
      const store = new CheckedStore(over.store)
      opened.set(store, over)
      return store
    },
    { describe: some.describe, test: overLine, expect },
    {
      digest: {
        sha256: (bytes) => createHash('sha256').update(bytes).digest(),
        sha256Hex: (text) => hash('sha256', text, 'hex'),
      },
      sections: suiteSections.filter((section) => !ofCallers.has(section)),
      quiet: async (store) => {
        const over = opened.get(store)
        if (over === undefined) return false
        // In this order: what the database has answered meanwhile may be about to go down.
        return ((await quiet?.(over.behind)) ?? false) || (await quietLine(over))
      },
    },
  )

  test('the suite still has every rule that is left out', () => {
    expect([...left]).toEqual([])
  })
}
