import { expect, test } from 'vitest'
import type { CalledNote } from '../src/host/notes.ts'
import { measure } from '../src/measure/measures.ts'
import { goodRun, measured, taskWith } from './builders.ts'

const called = (call: CalledNote['call'], of: string, outcome: string, more: Partial<CalledNote> = {}) => ({
  kind: 'called' as const,
  at: 0,
  process: 'main',
  call,
  of,
  outcome,
  ...more,
})
const route = {
  healthy: false,
  retryAfterMs: 0,
  leases: 0,
  pressure: 0,
  maxPressure: 0,
  resistance: 0,
}
const run = goodRun(0, {
  calls: [
    called('route', 'slow', 'admitted', { value: 5 }),
    called('route', 'slow', 'refused', { value: 4 }),
    called('probe', 'slow', 'probing', { value: 0.4 }),
    called('route', 'other', 'admitted', { value: 9 }),
    called('judge', 'writer', 'judged', { value: 0.8, seq: 1 }),
    called('judge', 'writer', 'drifted', { value: -0.3, seq: 3 }),
    called('judge', 'writer', 'drifted', { value: -0.4, seq: 2 }),
    called('lease', 'held', 'granted', { taskId: 'task-1' }),
  ],
  routes: [{ ...route, route: 'slow', circuit: 'open', scar: 3.5 }],
  agents: [{ agentId: 'writer', reputation: 0.62, evaluations: 2, composites: [0.8, 0.2] }],
  tasks: [
    taskWith(1, [], { state: 'completed', n: null, group: 'held' }),
    taskWith(2, [], { state: 'completed', n: null, group: 'held' }),
  ],
})
const value = (name: string, about = {}) => measure(name, measured(run), about).value

test('counts calls by what they were about and how they were answered', () => {
  expect(value('calls', { of: 'slow' })).toBe(3)
  expect(value('calls', { of: 'slow', call: 'route', reason: 'refused' })).toBe(1)
})

test('tells the scars and the circuit of a route', () => {
  expect(value('highestScar', { of: 'slow' })).toBe(5)
  expect(value('scar', { of: 'slow' })).toBe(3.5)
  expect([value('circuit', { of: 'slow' }), value('circuit', { of: 'other' })]).toEqual(['open', 'closed'])
})

test('a reputation is computed again', () => {
  expect(value('reputation', { of: 'writer' })).toBe(0.62)
  expect(value('reputationError', { of: 'writer' })).toBe(0)
  const wrong = {
    ...run,
    agents: [{ agentId: 'writer', reputation: 0.621, evaluations: 2, composites: [0.8, 0.2] }],
  }
  expect(measure('reputationError', measured(wrong), { of: 'writer' }).value).toBe(1000)
  expect(value('reputationError', { of: 'nobody' })).toBeNull()
})

test('finds the first evaluation that departed, whichever was heard first', () => {
  expect(value('firstDrift', { of: 'writer' })).toBe(2)
  expect(value('firstDrift', { of: 'nobody' })).toBeNull()
})

test('knows the tasks of leases that calls were granted', () => {
  expect(value('invented')).toBe(1)
})
