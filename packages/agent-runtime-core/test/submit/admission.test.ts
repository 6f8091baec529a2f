import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideAdmission, type AdmissionCase } from '../../src/submit/admission.ts'
import type { Objection } from '../../src/submit/verdict.ts'
import { type Lane, lanes } from '../../src/task/lane.ts'

const limits = {
  queueDepthLimit: 1_000,
  batchBackpressureThreshold: 500,
  maxDelayed: 100_000,
  maxClients: 10,
}
const at = (depth: number, lane: Lane, more: Partial<AdmissionCase> = {}): AdmissionCase => ({
  lane,
  depth,
  delayed: false,
  delayedCount: 0,
  limits,
  ...more,
})
const full = (key: string): Objection => ({
  message: `quota ${key} has no room`,
  verdict: { by: 'quota', key, limit: 'maxInFlight', max: 1, value: 1, asked: 1 },
})
const verdict = (it: AdmissionCase) => {
  const decided = decideAdmission(it)
  return decided.accepted ? 'accept' : decided.reason
}

describe('admission (docs/semantics.md 2.1, 2.2, 2.4)', () => {
  test.each<[depth: number, interactive: string, normal: string, batch: string]>([
    [0, 'accept', 'accept', 'accept'],
    [499, 'accept', 'accept', 'accept'],
    [500, 'accept', 'accept', 'backpressure'],
    [999, 'accept', 'accept', 'backpressure'],
    [1_000, 'queue_full', 'queue_full', 'queue_full'],
    [1_001, 'queue_full', 'queue_full', 'queue_full'],
  ])('2.2 at depth %i: interactive %s, normal %s, batch %s', (depth, ...expected) => {
    expect(lanes.map((lane) => verdict(at(depth, lane)))).toEqual(expected)
  })

  test('2.2 the limits are those of the configuration', () => {
    const own = { ...limits, queueDepthLimit: 3, batchBackpressureThreshold: 2, maxDelayed: 1 }
    expect([1, 2, 3].map((depth) => verdict(at(depth, 'batch', { limits: own })))).toEqual([
      'accept',
      'backpressure',
      'queue_full',
    ])
  })

  test('2.2 a threshold as high as the limit leaves no soft zone', () => {
    const own = { ...limits, queueDepthLimit: 5, batchBackpressureThreshold: 5 }
    expect(verdict(at(4, 'batch', { limits: own }))).toBe('accept')
    expect(verdict(at(5, 'batch', { limits: own }))).toBe('queue_full')
  })

  test.each(lanes)('2.4 a delayed %s task is outside the depth', (lane) => {
    expect(verdict(at(1_000, lane, { delayed: true }))).toBe('accept')
  })

  test('2.4 delayed tasks have a limit of their own: the 100 000th fits, the next is queue_full', () => {
    expect(verdict(at(0, 'normal', { delayed: true, delayedCount: 99_999 }))).toBe('accept')
    expect(verdict(at(0, 'normal', { delayed: true, delayedCount: 100_000 }))).toBe('queue_full')
  })

  test('2.4 delayed tasks do not count against one that is to start now', () => {
    expect(verdict(at(0, 'batch', { delayedCount: 100_000 }))).toBe('accept')
  })

  test('11.3 one more client than maxClients finds no room; what names a client that is known does', () => {
    const clients = (count?: number) =>
      decideAdmission(at(0, 'batch', count === undefined ? {} : { clients: count }))
    expect([clients(), clients(9)]).toEqual([{ accepted: true }, { accepted: true }])
    expect(clients(10)).toStrictEqual({
      accepted: false,
      reason: 'quota_exceeded',
      message: 'there are 10 clients, and maxClients is 10; remove clients that are not used any more',
      verdict: { by: 'limit', limit: 'maxClients', max: 10, value: 10 },
    })
  })

  test('2.1 a fault that the front door found comes before the depth, the depth before the quota', () => {
    const refused = { reason: 'unknown_task_type', message: 'no such type' } as const
    const exceededQuota = () => full('model:big')
    expect(decideAdmission(at(1_000, 'batch', { refused, exceededQuota }))).toEqual({
      accepted: false,
      ...refused,
    })
    expect(verdict(at(1_000, 'batch', { exceededQuota }))).toBe('queue_full')
    expect(verdict(at(500, 'batch', { exceededQuota }))).toBe('backpressure')
    expect(verdict(at(499, 'batch', { exceededQuota }))).toBe('quota_exceeded')
  })

  test('2.1 quotas are not even asked about a task that the depth refuses', () => {
    const asked: string[] = []
    const exceededQuota = () => void asked.push('asked')
    decideAdmission(at(1_000, 'normal', { exceededQuota }))
    expect(asked).toEqual([])
    decideAdmission(at(999, 'normal', { exceededQuota }))
    expect(asked).toEqual(['asked'])
  })

  test('2.1 a delayed task is subject to quotas like any other', () => {
    expect(verdict(at(0, 'normal', { delayed: true, exceededQuota: () => full('tool:browser') }))).toBe(
      'quota_exceeded',
    )
  })

  test.each<[string, AdmissionCase, string]>([
    ['queue_full', at(1_000, 'normal'), 'queueDepthLimit is 1000'],
    ['backpressure', at(500, 'batch'), 'batchBackpressureThreshold is 500'],
    ['queue_full', at(0, 'normal', { delayed: true, delayedCount: 100_000 }), 'maxDelayed is 100000'],
    ['quota_exceeded', at(0, 'normal', { exceededQuota: () => full('model:big') }), 'model:big'],
  ])('a refusal by %s names the limit', (_, it, part) => {
    expect(decideAdmission(it)).toMatchObject({ accepted: false, message: expect.stringContaining(part) })
  })

  test('I13 the depth decides alone, and a deeper queue never accepts what a shallower one refused', () => {
    const depth = fc.integer({ min: 0, max: 1_100 })
    fc.assert(
      fc.property(depth, fc.constantFrom(...lanes), (d, lane) => {
        const expected =
          d >= limits.queueDepthLimit
            ? 'queue_full'
            : d >= limits.batchBackpressureThreshold && lane === 'batch'
              ? 'backpressure'
              : 'accept'
        expect(verdict(at(d, lane))).toBe(expected)
        expect(verdict(at(d, lane)) === 'accept' || verdict(at(d + 1, lane)) !== 'accept').toBe(true)
      }),
    )
  })
})
