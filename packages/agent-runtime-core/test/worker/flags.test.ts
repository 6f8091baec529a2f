import { describe, expect, test } from 'vitest'
import { isOwn } from '../../src/worker/is-own.ts'
import { readWorkerFlags, workerFlags } from '../../src/worker/row.ts'
import { isSilent, isTakenForGone } from '../../src/worker/worker.ts'
import { worker } from '../transition/rows.ts'

describe('the row of a worker (docs/semantics.md 3.2)', () => {
  test.each([
    [0, {}],
    [1, { draining: true }],
    [2, { drainAsked: true }],
    [3, { draining: true, drainAsked: true }],
    [4, { lanes: ['normal', 'batch'] }],
    [24, { lanes: ['interactive'] }],
    [28, { lanes: [] }],
  ] as const)('3.2 keeps its drains and its lanes as the number %i', (flags, more) => {
    expect(workerFlags({ ...worker, ...more })).toBe(flags)
    expect(readWorkerFlags(flags)).toStrictEqual({ draining: false, drainAsked: false, ...more })
  })

  test('3.2 all lanes by name are all lanes', () => {
    expect(workerFlags({ ...worker, lanes: ['batch', 'normal', 'interactive'] })).toBe(0)
  })

  test('3.2 a worker is silent after the life of a lease, and taken for gone after three', () => {
    expect([99, 100].map((at) => isSilent(0, at, 100))).toEqual([false, true])
    expect([299, 300].map((at) => isTakenForGone(0, at, 100))).toEqual([false, true])
  })

  test('3.2 belongs to its process, or to the lines of that', () => {
    const owned = (remote: number | undefined) =>
      [1, 2, 3].map((owner) => isOwn({ process: 1, remote }, owner))
    expect(owned(2)).toEqual([true, true, false])
    expect(owned(undefined)).toEqual([true, false, false])
  })
})
