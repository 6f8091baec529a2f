import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { fields, mostly, type Piece, piece, values } from '../../../agent-runtime-core/test/fuzz/pieces.ts'
import { wrongWith } from '../../../agent-runtime-core/test/fuzz/told.ts'
import { backupStore, inspectStore, openStore, type OpenStoreOptions, verifyStore } from '../../src/index.ts'
import { systemEnvironment } from '../../src/system.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

/** Other values by FUZZ_SEED, more of them by FUZZ_RUNS. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
const numRuns = Number(process.env['FUZZ_RUNS'] ?? draws(12, 24, 60))

const stop = new Error('stop')
const strange = ['a\0b', '\ud800', 'x'.repeat(300), 'none/it.db', '.', '%s', "it's.db", 'it.db?x=1', 'new.db']
const flag = mostly(values(true, false))
const signal = mostly(
  values(undefined),
  fc.constant(piece('a signal that is aborted', () => AbortSignal.abort(stop))),
)
const opening = fields({
  config: mostly(values({}, { leaseTtlMs: 40_000 }, { leaseTtlMs: -1 }, { leaseTtl: 5 }, 'defaults')),
  durability: mostly(values('full', 'normal', 'FULL')),
  acceptLoss: flag,
  existing: flag,
  checked: flag,
  environment: mostly(values({}), fc.constant(piece('the environment', systemEnvironment))),
})
const copying = fields({ signal, onProgress: mostly(values(undefined)) })
const inspecting = fields({ thread: mostly(values(false)) })
const verifying = fields({ signal, maxFaults: mostly(values(0, 1, 100, 10_001)) })

/** In the test's own thread: a thread for each takes a tenth of a second. */
async function open(at: string, options: OpenStoreOptions): Promise<void> {
  const store = await openStore(at, inThisThread(options))
  await store.close()
}

function inThisThread(options: OpenStoreOptions): OpenStoreOptions {
  try {
    return Object.getPrototypeOf(options) === Object.prototype ? { thread: false, ...options } : options
  } catch {
    return options
  }
}

const calls: Readonly<Record<string, (folder: string) => readonly fc.Arbitrary<Piece>[]>> = {
  openStore: (folder) => [urlIn(folder), opening],
  backupStore: (folder) => [urlIn(folder), targetIn(folder), copying],
  verifyStore: (folder) => [urlIn(folder), verifying],
  inspectStore: (folder) => [urlIn(folder), inspecting],
}
const called = { openStore: open, backupStore, verifyStore, inspectStore } as Readonly<
  Record<string, (...given: readonly never[]) => Promise<unknown>>
>

function urlIn(folder: string): fc.Arbitrary<Piece> {
  const odd = ['sqlite::memory:', 'sqlite:', '', ...strange.map((it) => `sqlite:${folder}/${it}`)]
  return fc.oneof(
    { weight: 3, arbitrary: values(`sqlite:${folder}/it.db`) },
    { weight: 1, arbitrary: mostly(values(...odd)) },
  )
}

/** Texts are names in a folder of the test's own, so that nothing is written elsewhere. */
function targetIn(folder: string): fc.Arbitrary<Piece> {
  const inside = ({ text, make }: Piece) =>
    piece(text, () => {
      const value = make()
      return typeof value === 'string' ? `${folder}/copies/${value.replaceAll('..', '_')}` : value
    })
  let copies = 0
  const free = piece('a name that is free', () => `copy ${(copies += 1)}.db`)
  return mostly(fc.constant(free), values(...strange)).map(inside)
}

describe('the calls that open, copy and look at a store (docs/reliability.md 3.3)', () => {
  const timeout = 30_000 + numRuns * 300
  test.each(Object.keys(calls))(
    '%s takes what it is given, or says what is wrong with it',
    { timeout },
    async (name) => {
      const folder = scratchFolder()
      mkdirSync(join(folder, 'copies'))
      await open(`sqlite:${folder}/it.db`, {})
      let worked = 0
      await fc.assert(
        fc.asyncProperty(fc.tuple(...calls[name]!(folder)), async (pieces) => {
          const given = pieces.map(({ make }) => make())
          const told = await called[name]!(...(given as never[])).then(
            () => void (worked += 1),
            (error: unknown) => (error === stop ? undefined : wrongWith(error)),
          )
          expect(told).toBeUndefined()
        }),
        { seed, numRuns },
      )
      expect(worked).toBeGreaterThan(numRuns / 20)
      const left = [...readdirSync(folder), ...readdirSync(join(folder, 'copies'))]
      expect(left.filter((file) => file.endsWith('.partial'))).toEqual([])
    },
  )
})
