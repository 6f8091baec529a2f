import { expect, test } from 'vitest'
import { OpenTasks } from '../src/open-tasks.ts'
import type { KnownEvent, TelemetryEvent } from '../src/source.ts'

test('a task is open until its end', () => {
  const tasks = new OpenTasks(10, () => {})
  for (const [type, data] of [
    ['task.completed', { leaseId: 'l', output: null, durationMs: 0 }],
    ['task.failed', { leaseId: 'l', kind: 'error', error: null }],
    ['task.canceled', { from: 'queued' }],
  ] as const) {
    tasks.follow(queued('a'))
    expect([...tasks.values()]).toHaveLength(1)
    tasks.follow(event(type, 'a', data))
    expect([...tasks.values()]).toEqual([])
  }
})

test('too many at once: the one that nothing has been heard of for longest is given up', () => {
  const givenUp: string[] = []
  const tasks = new OpenTasks(2, ({ taskId }) => givenUp.push(taskId))
  tasks.follow(queued('a'))
  tasks.follow(queued('b'))
  tasks.follow(started('a'))
  tasks.follow(queued('c'))
  expect(givenUp).toEqual(['b'])
})

test('an event of an unknown task changes nothing', () => {
  const tasks = new OpenTasks(2, () => {})
  expect(tasks.follow(event('task.waiting', 'a', { reason: 'timer', leaseId: 'l' }))).toBeUndefined()
  expect(tasks.follow(event('step.replayed', 'a', { key: 'k', position: 0 }))).toBeUndefined()
  expect([...tasks.values()]).toEqual([])
})

function queued(taskId: string): KnownEvent {
  return event('task.queued', taskId, { type: 'review', lane: 'normal', input: null })
}

function started(taskId: string): KnownEvent {
  const data = { type: 'review', lane: 'normal', attempt: 1, leaseId: 'l', workerId: 'w', waitMs: 0 }
  return event('task.started', taskId, data)
}

function event(type: TelemetryEvent['type'], taskId: string, data: object): KnownEvent {
  return { type, taskId, seq: 1, at: 0, data } as KnownEvent
}
