import { VirtualClock } from '@ku0/agent-runtime-core/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { fields, hostile, mostly, piece, values } from '../../../agent-runtime-core/test/fuzz/pieces.ts'
import { wrongWith } from '../../../agent-runtime-core/test/fuzz/told.ts'
import * as everything from '../../src/index.ts'

const { attachTelemetry, captureTraceContext, createLogger, droppedLines } = everything

/** Other values by FUZZ_SEED, more of them by FUZZ_RUNS. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
const numRuns = Number(process.env['FUZZ_RUNS'] ?? draws(20, 120, 300))

const made = (text: string, make: () => unknown) => mostly(fc.constant(piece(text, make)))
const clock = made('a clock', () => new VirtualClock())
const logger = made('a logger', () => ({ warn() {}, error() {} }))
const flag = mostly(values(true, false))
const source = made('a source', () => ({
  on: () => ({ [Symbol.dispose]() {} }),
  stats: () => Promise.reject(new Error('theirs')),
  workers: () => Promise.resolve([]),
  storeInfo: { storeId: 's', processId: 'p' },
}))

const calls = {
  createLogger: [
    fc.tuple(
      fields(
        { clock, level: mostly(values('info', 'silent', 'loud')), maxWaitingBytes: mostly(values(0, 1_000)) },
        'clock',
      ),
    ),
    // Standard error has to be left alone.
    (options: object) => createLogger({ level: 'silent', ...options } as never).info('not written'),
  ],
  attachTelemetry: [
    fc.tuple(source, fields({ clock, timers: clock, logger, logPayloads: flag }, 'clock', 'timers')),
    (of: never, options: never) => attachTelemetry(of, options)[Symbol.dispose](),
  ],
  droppedLines: [fc.tuple(hostile), (of: never) => droppedLines(of)],
  captureTraceContext: [fc.tuple(hostile), () => captureTraceContext()],
} as const

describe('telemetry uses any value that it gets, or refuses it by an error of the house (docs/reliability.md 3.7)', () => {
  test('all that the package exports is tried', () => {
    const functions = Object.entries(everything).flatMap(([name, it]) =>
      typeof it === 'function' ? [name] : [],
    )
    expect(functions.toSorted()).toEqual(Object.keys(calls).toSorted())
  })

  test.each(Object.entries(calls))('%s', (_, [given, call]) => {
    let worked = 0
    fc.assert(
      fc.property(given as fc.Arbitrary<ReturnType<typeof piece>[]>, (pieces) => {
        const them = pieces.map(({ make }) => make())
        let told: string | undefined
        try {
          ;(call as (...args: unknown[]) => unknown)(...them)
          worked += 1
        } catch (error) {
          told = wrongWith(error)
        }
        expect(told).toBeUndefined()
      }),
      { seed, numRuns },
    )
    expect(worked).toBeGreaterThan(numRuns / 10)
  })
})
