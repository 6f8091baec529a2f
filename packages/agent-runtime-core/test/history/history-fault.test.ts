import { expect, test } from 'vitest'
import { StoreError } from '../../src/error/errors.ts'
import { divergenceOfFault, historyEdited } from '../../src/history/history-fault.ts'

const fault = { seq: 3, expected: 'af01', actual: 'no event' }

test('6.2 the error of an edited history says which event is wrong, and what to do', () => {
  const error = historyEdited('t1', fault)
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ code: 'store_corrupt', details: { taskId: 't1', ...fault } })
  expect(error.message).toBe(
    'the stored history of task t1 was changed: event 3 should be af01 and is no event. Restore its rows of the table event from a backup, then resume the task; or cancel it',
  )
  expect(historyEdited('t1', fault, 'try again').message).toMatch(/from a backup, then try again$/)
})

test('6.4 an edited history parks its task as diverged at that event', () => {
  expect(divergenceOfFault(fault)).toEqual({
    kind: 'history_edited',
    key: '',
    position: 0,
    expected: 'event 3: af01',
    actual: 'event 3: no event',
  })
})
