import { describe, expect, test } from 'vitest'
import { leftOf, limitsOf } from '../../src/profile/left.ts'
import type { UsageRow } from '../../src/transition.ts'
import { swarm, usage, workingSet } from '../transition/rows.ts'

const other = usage({ task: 8, swarm: 's', agent: 'b', computeUs: 200, memoryBytes: 300 })

/** What is left of it for an agent, beside another one that has used 200 µs and holds 300 bytes. */
const left = (own: UsageRow) =>
  leftOf(
    workingSet({
      swarms: new Map([['s', swarm]]),
      usages: new Map([own, other].map((row) => [row.task, row])),
    }),
    own,
  )

describe('the amounts that a lease has left (docs/semantics.md 10.6)', () => {
  test('nothing limits work without limits that is in no swarm', () => {
    const own = usage({ computeUs: 5, memoryBytes: 5 })
    expect(leftOf(workingSet({ usages: new Map([[7, own]]) }), own)).toStrictEqual({
      cpuTimeUs: null,
      memoryBytes: null,
    })
  })

  test('its hard limits, less the CPU time that it took; memory that it holds is part of what it may hold', () => {
    const own = usage(
      { computeUs: 30, memoryBytes: 40 },
      { soft: { cpuTimeUs: 1, memoryBytes: 1 }, hard: { cpuTimeUs: 100, memoryBytes: 200 } },
    )
    expect(leftOf(workingSet({ usages: new Map([[7, own]]) }), own)).toStrictEqual({
      cpuTimeUs: 70,
      memoryBytes: 200,
    })
  })

  test('an agent without a promise has the rest, and may hold what it holds', () => {
    // 1 000 less 100 of the past, 200 of the other and 50 of its own; 1 000 bytes less the 300 of the other.
    expect(left(usage({ swarm: 's', computeUs: 50, memoryBytes: 60 }))).toStrictEqual({
      cpuTimeUs: 650,
      memoryBytes: 700,
    })
  })

  test('an agent has of its promise what it has not used, whatever else is left', () => {
    const own = usage({
      swarm: 's',
      computeUs: 150,
      memoryBytes: 60,
      promisedCpuUs: 400,
      promisedMemoryBytes: 500,
    })
    expect(left(own)).toStrictEqual({ cpuTimeUs: 250, memoryBytes: 500 })
  })

  test('the part of its promise that others took is not left', () => {
    const own = usage({ swarm: 's', computeUs: 50, promisedCpuUs: 900, promisedMemoryBytes: 900 })
    // 100 µs of the past and 200 of the other leave 700, and 50 are used; 300 bytes of the other leave 700.
    expect(left(own)).toStrictEqual({ cpuTimeUs: 650, memoryBytes: 700 })
  })

  test('no less than 0 is left, whoever has used too much', () => {
    const own = usage({ swarm: 's', computeUs: 5_000, memoryBytes: 5 }, { hard: { memoryBytes: 1 } })
    expect(left(own)).toStrictEqual({ cpuTimeUs: 0, memoryBytes: 1 })
  })
})

describe('the limits of a lease (docs/semantics.md 10.5, 10.6)', () => {
  const limits = { soft: { cpuTimeUs: 10 }, hard: { cpuTimeUs: 100, memoryBytes: 100, durationMs: 9 } }
  const promised = (cpuTimeUs: number | null, memoryBytes: number | null) =>
    limitsOf(usage({ promisedCpuUs: cpuTimeUs, promisedMemoryBytes: memoryBytes }, limits))

  test('an agent without a promise: its own limits, and no others', () => {
    expect(promised(null, null)).toStrictEqual(limits)
    expect(limitsOf(usage())).toStrictEqual({})
  })

  test.each([
    ['a smaller promise of CPU time', [99, null], { cpuTimeUs: 99, memoryBytes: 100 }],
    ['a smaller promise of memory', [null, 99], { cpuTimeUs: 100, memoryBytes: 99 }],
    ['a smaller limit of its own', [101, 101], { cpuTimeUs: 100, memoryBytes: 100 }],
  ] as const)(
    '%s is the hard limit; what is soft, and the time, stay as they are',
    (_, [cpu, memory], hard) => {
      expect(promised(cpu, memory)).toStrictEqual({ soft: limits.soft, hard: { ...hard, durationMs: 9 } })
    },
  )

  test('a promise limits what has no limit of its own', () => {
    expect(limitsOf(usage({ promisedCpuUs: 5, promisedMemoryBytes: 6 }))).toStrictEqual({
      soft: {},
      hard: { cpuTimeUs: 5, memoryBytes: 6 },
    })
  })
})
