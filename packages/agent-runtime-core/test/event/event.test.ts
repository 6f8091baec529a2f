import { describe, expect, test } from 'vitest'
import { eventCatalogue, type EventType, paperEvents, rejectionReasons } from '../../src/event/event.ts'
import { waitReasons } from '../../src/wait/wait.ts'
import { failureKinds } from '../../src/task/failure-kind.ts'
import { leaseEndReasons } from '../../src/lease/lease.ts'
import { isFinal, taskStates } from '../../src/task/states.ts'

/** Frozen: a later version may add names at the end, and changes none (docs/semantics.md 1.6). */
const frozen = [
  'task.queued',
  'task.rejected',
  'task.started',
  'task.waiting',
  'task.resumed',
  'task.requeued',
  'task.completed',
  'task.failed',
  'task.canceled',
  'lease.acquired',
  'lease.expired',
  'lease.lost',
  'lease.released',
  'step.started',
  'step.completed',
  'step.replayed',
  'step.failed',
  'checkpoint.created',
  'step.inherited',
  'wait.inherited',
  'doubt.inherited',
  'wait.started',
  'wait.resolved',
  'signal.received',
  'child.spawned',
  'child.inherited',
  'child.ended',
  'approval.requested',
  'approval.resolved',
  'limit.warned',
  'supervisor.escalated',
  'supervisor.renewed',
  'supervisor.restarted',
  'task.parked',
  'task.preempted',
  'task.recovered',
  'task.leaked',
  'task.killed',
  'task.charged',
  'attempt.restarted',
  'task.stuck',
  'store.disconnected',
  'store.reconnected',
  'evaluation.recorded',
  'evaluation.drifted',
  'budget.asked',
  'budget.continued',
  'credits.asked',
  'agreement.missed',
]
const names = Object.keys(eventCatalogue) as EventType[]

describe('the event catalogue (docs/semantics.md 1.6)', () => {
  test('1.6 has every name it ever had', () => {
    expect(names).toEqual(expect.arrayContaining(frozen))
  })

  test('1.6 has no other names yet: who adds one adds it here', () => {
    expect(names.toSorted()).toEqual(frozen.toSorted())
  })

  test('1.6 names are dotted, in lower case and, except for task.waiting, in the past tense', () => {
    for (const name of names) expect(name).toMatch(/^([a-z]+\.[a-z]+(ed|ost|uck)|task\.waiting)$/)
  })

  test('1.3 the names of leases, replays, restarts, evaluations and the store are published, and stored never', () => {
    expect(names.filter((name) => !eventCatalogue[name].stored).toSorted()).toEqual([
      'attempt.restarted',
      'evaluation.drifted',
      'evaluation.recorded',
      'lease.acquired',
      'lease.expired',
      'lease.lost',
      'lease.released',
      'step.replayed',
      'store.disconnected',
      'store.reconnected',
      'task.parked',
      'task.preempted',
      'task.recovered',
      'task.stuck',
    ])
  })

  test('1.6 the ten names of the scheduler paper map onto it', () => {
    expect(paperEvents).toEqual({
      agent_started: ['task.queued'],
      step_completed: ['step.completed'],
      step_replayed: ['step.replayed'],
      step_failed: ['step.failed'],
      job_assigned: ['task.started'],
      approval_requested: ['approval.requested'],
      checkpoint_created: ['checkpoint.created'],
      job_completed: ['task.completed'],
      agent_cancelled: ['task.canceled'],
      agent_terminated: ['task.completed', 'task.failed', 'task.canceled', 'task.rejected'],
    })
    expect(
      Object.values(paperEvents)
        .flat()
        .every((name) => names.includes(name)),
    ).toBe(true)
  })

  test('1.6 agent_terminated is every final state, and each has an event of its name', () => {
    expect(paperEvents.agent_terminated.toSorted()).toEqual(
      taskStates
        .filter(isFinal)
        .map((state) => `task.${state}`)
        .toSorted(),
    )
  })
})

describe('the reasons (docs/semantics.md 1.1)', () => {
  test('1.1 the kinds of rejection', () => {
    expect([...rejectionReasons].toSorted()).toEqual([
      'backpressure',
      'budget_exceeded',
      'circuit_open',
      'invalid_payload',
      'queue_full',
      'quota_exceeded',
      'swarm_full',
      'swarm_overloaded',
      'unknown_task_type',
    ])
  })

  test('1.1 the kinds of waiting', () => {
    expect(waitReasons).toEqual(['approval', 'signal', 'timer', 'children', 'budget', 'divergence'])
  })

  test('1.1 the kinds of failing: by the handler, and by the runtime', () => {
    expect(failureKinds).toEqual(
      expect.arrayContaining([
        'error',
        'timeout',
        'hard_limit',
        'poisoned',
        'schema_mismatch',
        'invalid_output',
        'crashed',
        'gateway_unreachable',
      ]),
    )
  })

  test('1.1 the kinds of the end of a lease', () => {
    expect(leaseEndReasons).toEqual(
      expect.arrayContaining([
        'completed',
        'failed',
        'retry',
        'expired',
        'owner_dead',
        'canceled',
        'yielded',
        'drained',
        'waiting',
      ]),
    )
  })
})
