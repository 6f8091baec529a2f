import { LINE_VERSION } from '@ku0/agent-runtime-persistence/lines'
import { describe, expect, test } from 'vitest'
import { readFrame } from '../../src/remote/frames.ts'

const most = 100_000
const worker = { workerId: 'w', capacity: 2, types: ['work'], draining: false }
const hello = (workers: readonly object[], more: object = {}) =>
  JSON.stringify({
    hello: {
      version: LINE_VERSION,
      session: 'x'.repeat(32),
      processId: 'p',
      workers,
      leases: [],
      interest: { types: [], tasks: [] },
      ...more,
    },
  })

describe('a greeting', () => {
  test('says all that a worker is: its lanes, its settings, its demand', () => {
    const whole = {
      ...worker,
      lanes: ['batch'],
      settings: { work: { maxAttempts: 3 } },
      demand: { credit: 4, given: 2 },
    }
    expect(readFrame(hello([whole]), most)).toMatchObject({ hello: { workers: [whole] } })
  })

  test.each([
    ['an unknown field of a worker', hello([{ ...worker, root: true }])],
    ['a lane that there is not', hello([{ ...worker, lanes: ['fast'] }])],
    ['a capacity below none', hello([{ ...worker, capacity: -1 }])],
    ['a short secret', hello([], { session: 'short' })],
  ])('with %s is refused', (_, text) => {
    expect(() => readFrame(text, most)).toThrow(expect.objectContaining({ code: 'line_protocol' }))
  })

  test('may have any form in another version, so that it is refused by its version', () => {
    const text = hello([{ name: 'w' }], { version: LINE_VERSION + 1, session: 1 })
    expect(readFrame(text, most)).toMatchObject({ hello: { version: LINE_VERSION + 1 } })
  })
})

test('a frame that is too large is refused before it is read', () => {
  expect(() => readFrame('x'.repeat(11), 10)).toThrow('maxLineFrameBytes')
})
