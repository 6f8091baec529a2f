import { describe, expect, it } from 'vitest'
import {
  pickupLatencies,
  queueWaits,
  resumes,
  schedulerLatencies,
  takeovers,
  wakes,
} from '../src/measure/latencies.ts'
import {
  completedTask,
  goodRun,
  type Happening,
  history,
  life,
  pass,
  started,
  submitted,
  taskWith,
} from './builders.ts'

describe('scheduler latency', () => {
  const lives = [life({ capacity: 1, workersStartedAt: 1100 })]

  it('counts from the call of submit where a slot stood free', () => {
    const run = goodRun(1, { lives, passes: [pass(1, { enteredAt: 1204 })] })
    expect(schedulerLatencies(run)).toEqual([3])
    expect(pickupLatencies(run)).toEqual([3])
  })

  it('counts from the moment a slot was free where all were taken', () => {
    const passes = [pass(1, { enteredAt: 1204, leftAt: 1300 }), pass(2, { enteredAt: 1302, leftAt: 1400 })]
    expect(schedulerLatencies(goodRun(2, { lives, passes }))).toEqual([3, 2])
  })

  it('counts a slot of another process as free', () => {
    const two = [...lives, life({ process: 'second', capacity: 1, workersStartedAt: 1250 })]
    const passes = [pass(1, { enteredAt: 1204, leftAt: 1300 }), pass(2, { enteredAt: 1302, leftAt: 1400 })]
    expect(schedulerLatencies(goodRun(2, { lives: two, passes }))).toEqual([3, 52])
  })

  it('leaves out tasks that a quota may hold back, and later passes', () => {
    const run = goodRun(2, {
      lives,
      tasks: [completedTask(1, { model: 'large' }), completedTask(2)],
      passes: [pass(1), pass(2, { token: 2 })],
    })
    expect(schedulerLatencies(run)).toEqual([])
  })
})

describe('queue wait', () => {
  it('counts each time a task was queued, by lane', () => {
    const events = history(
      ['task.queued', 100, {}],
      ['task.started', 110, started(1, 1)],
      ['task.requeued', 150, { reason: 'expired' }],
      ['task.started', 155, started(1, 2)],
    )
    const run = goodRun(1, { tasks: [taskWith(1, events, { lane: 'batch', submittedAt: 100 })] })
    expect(queueWaits(run)).toEqual([10, 5])
    expect(queueWaits(run, 'batch')).toEqual([10, 5])
    expect(queueWaits(run, 'normal')).toEqual([])
  })
})

describe('resume', () => {
  const killed = life({ endedAt: 2000, exitCode: null, exitSignal: 'SIGKILL', closed: false })
  const again = life({ life: 2, spawnedAt: 2100 })
  const crashed = (...after: readonly Happening[]) =>
    taskWith(
      1,
      history(
        ['task.queued', 1201, {}],
        ['task.started', 1210, started(1, 1)],
        ['step.completed', 1212, { key: 'hash:0', position: 0 }],
        ['task.requeued', 2300, { reason: 'owner_dead' }],
        ...after,
      ),
    )

  it('counts from the start of the process to the first step that was not recorded before', () => {
    const task = crashed(
      ['task.started', 2310, started(1, 2)],
      ['step.completed', 2400, { key: 'hash:1', position: 1 }],
    )
    expect(resumes(goodRun(1, { lives: [killed, again], tasks: [task] }))).toEqual([
      { taskId: 'task-1', ms: 300 },
    ])
  })

  it('knows a task that never took a new step', () => {
    const task = crashed(['task.started', 2310, started(1, 2)])
    expect(resumes(goodRun(1, { lives: [killed, again], tasks: [task] }))).toEqual([
      { taskId: 'task-1', ms: null },
    ])
  })

  it('says nothing of a process that was killed again within the second', () => {
    const short = { ...again, endedAt: 2600, exitSignal: 'SIGKILL' }
    const task = crashed(['task.started', 2310, started(1, 2)])
    expect(resumes(goodRun(1, { lives: [killed, short], tasks: [task] }))).toEqual([])
  })

  it('leaves out tasks that were not in flight at the kill', () => {
    expect(resumes(goodRun(3, { lives: [killed, again] }))).toEqual([])
  })

  it('counts a take-over from the end of the killed process', () => {
    const task = crashed(['task.started', 2310, started(1, 2)])
    expect(
      takeovers(
        goodRun(1, {
          lives: [killed, again],
          tasks: [task],
          submissions: [{ ...submitted(1), process: 'main' }],
        }),
      ),
    ).toEqual([310])
  })
})

describe('wake', () => {
  it('counts from the earliest due time of a wait to the next start, and not what has no time', () => {
    const events = history(
      ['task.queued', 100, {}],
      ['task.started', 110, started(1, 1)],
      ['task.waiting', 120, { reason: 'timer', dueAt: { late: 900, soon: 200 } }],
      ['task.resumed', 201, { reason: 'timer' }],
      ['task.started', 203, started(1, 2)],
      ['task.waiting', 210, { reason: 'signal' }],
      ['task.resumed', 300, { reason: 'signal' }],
      ['task.started', 310, started(1, 3)],
    )
    expect(wakes(goodRun(1, { tasks: [taskWith(1, events)] }))).toEqual([3])
  })
})
