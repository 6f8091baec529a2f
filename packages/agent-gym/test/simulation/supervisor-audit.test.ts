import { expect, test } from 'vitest'
import { Findings } from '../../src/simulation/findings.ts'
import type { Followed } from '../../src/simulation/followed.ts'
import { SupervisorAudit } from '../../src/simulation/supervisor-audit.ts'

/** The audit after these events of tasks, and what it has found. */
function audited(events: readonly (readonly [task: number, type: string, data: object])[]) {
  const findings = new Findings(() => 0, false)
  const audit = new SupervisorAudit(findings, { numberOf: Number, idOf: String })
  for (const [task, type, data] of events) {
    const event = { seq: 1, type, at: 0, data: JSON.stringify(data) }
    audit.event({} as Followed, task, event, data as Record<string, unknown>)
  }
  return { audit, violations: () => findings.violations.map(({ text }) => text) }
}

const waits = [1, 'wait.started', { key: '$ku0/supervisor/one_for_one/2/1000/children' }] as const
const first = [
  1,
  'child.spawned',
  { key: '$ku0/supervised/transient/first', taskId: '2', position: 0 },
] as const

test('14.2 a child that comes after the first has its result, and no other', () => {
  const { audit, violations } = audited([waits, first, [2, 'task.completed', { output: ['a', 1] }]])
  audit.queued(3, { after: { first: ['a', 1] } }, 1)
  expect(violations()).toEqual([])
  audit.queued(4, { after: { first: ['a', 2] } }, 1)
  audit.queued(5, { after: {} }, 1)
  expect(violations()).toEqual([
    'task 4 comes after the first, and has the results {"first":["a",2]}',
    'task 5 comes after the first, and has the results {}',
  ])
})

test('14.2 nobody has leave to start a child that the store refused to start', () => {
  const { audit } = audited([waits])
  const spawned = { key: '$ku0/supervised/temporary/outside 1' }
  audit.asks(1, 'outside 1', 'temporary')
  expect(audit.isAsked(1, spawned)).toBe(true)
  audit.refused(1, 'outside 1')
  expect(audit.isAsked(1, spawned)).toBe(false)
})
