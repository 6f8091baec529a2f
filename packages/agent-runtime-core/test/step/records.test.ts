import { describe, expect, test } from 'vitest'
import { ChildRecord } from '../../src/child/schema.ts'
import { StepRecord } from '../../src/step/schema.ts'

const child = { key: 'a', position: 0, taskId: 't1', type: 'work', policy: 'cancel', seq: 1 }
const step = { key: 'a', position: 0, result: '1', seq: 1, at: 0.5, durationMs: 0 }
const whole = { ...step, inputHash: 'af', branchKeys: ['b'], nested: true }

describe('the memory of a parent and a handler', () => {
  test.each([
    ['a child', ChildRecord, child],
    ['a child far on', ChildRecord, { ...child, position: 9, policy: 'abandon', seq: 90 }],
    ['a step', StepRecord, step],
    ['a step far on', StepRecord, { ...whole, position: 9, seq: 90 }],
  ])('%s is read as it is', (_, schema, record) => {
    expect(schema.parse(record)).toEqual(record)
  })

  test.each([
    ['a field that no child has', ChildRecord, { ...child, more: 1 }, 'more'],
    ['a place before the first', ChildRecord, { ...child, position: -1 }, 'position'],
    ['half a place', ChildRecord, { ...child, position: 0.5 }, 'position'],
    ['no event', ChildRecord, { ...child, seq: 0 }, 'seq'],
    ['another policy', ChildRecord, { ...child, policy: 'keep' }, 'policy'],
    ['a field that no step has', StepRecord, { ...step, more: 1 }, 'more'],
    ['a place before the first', StepRecord, { ...step, position: -1 }, 'position'],
    ['no event', StepRecord, { ...step, seq: 0 }, 'seq'],
    ['a result that is no text', StepRecord, { ...step, result: 1 }, 'result'],
    ['a mark that says no', StepRecord, { ...step, nested: false }, 'nested'],
    ['keys that are no texts', StepRecord, { ...step, branchKeys: [1] }, 'branchKeys'],
  ])('%s is refused', (_, schema, record, field) => {
    const { error } = schema.safeParse(record)
    expect(error?.message).toContain(field)
  })
})
