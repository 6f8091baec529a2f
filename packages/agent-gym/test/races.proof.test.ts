import { LeaseLost, TaskCanceled } from '@ku0/agent-runtime'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../tools/draws.ts'
import { racesCommand } from '../src/cli/races-command.ts'
import { exitCode } from '../src/cli/exit-code.ts'
import { CodeCache } from '../src/host/code-cache.ts'
import { faultsOf as cancelFaults, type Race, raceCancels } from '../src/races/race-cancels.ts'
import { tooLittle } from '../src/races/run-races.ts'
import { faultsOf as stopFaults, type StoppedWorker, stopWorkers } from '../src/races/stop-workers.ts'

const { signal } = new AbortController()

describe('cancels against the ends of tasks', () => {
  test('races have one winner each, and everybody gets the same answer', async () => {
    const count = draws(100, 200, 400)
    const { faults, ...counts } = await raceCancels(count, 1, signal)
    expect(faults).toEqual([])
    expect(counts.races).toBe(count)
    expect(counts.completed + counts.canceled).toBe(count)
    expect(Math.min(counts.completed, counts.canceled)).toBeGreaterThan(count / 10)
    expect(counts.close).toBeGreaterThan(count / 2)
    expect(counts.fromElsewhere).toBeGreaterThan(count / 4)
  })

  const won: Race = {
    taskId: 't',
    returnedAt: 2,
    askedAt: 1,
    answeredAt: 3,
    answer: true,
    heardAt: 4,
    heard: 'canceled',
    cleanedUp: ['canceled'],
    told: new TaskCanceled('t'),
    state: 'canceled',
    acknowledged: true,
    events: ['task.queued', 'task.started', 'task.canceled'],
    leases: ['canceled'],
  }
  const lost: Race = {
    ...won,
    answer: false,
    heard: 'completed',
    cleanedUp: [],
    told: undefined,
    state: 'completed',
    acknowledged: false,
    events: ['task.queued', 'task.started', 'task.completed'],
    leases: ['completed'],
  }

  test.each<[string, Race, Partial<Race>]>([
    ['canceled and completed', won, { state: 'completed' }],
    ['two ends', won, { events: [...won.events, 'task.completed'] }],
    ['no end', lost, { events: lost.events.slice(0, 2) }],
    ['who waits hears something else', won, { heard: 'completed' }],
    ['a hook that was forgotten', won, { cleanedUp: [] }],
    ['a hook that was called twice', won, { cleanedUp: ['canceled', 'canceled'] }],
    ['a hook although it completed', lost, { cleanedUp: ['canceled'] }],
    ['a handler that was not told', won, { told: undefined }],
    ['a stop that nobody heard of', won, { acknowledged: false }],
    ['a cancel that was refused and done', won, { answer: false }],
    ['a second lease', lost, { leases: ['expired', 'completed'] }],
  ])('would be found out: %s', (_, race, change) => {
    expect(cancelFaults(race)).toEqual([])
    expect(cancelFaults({ ...race, ...change })).not.toEqual([])
  })
})

describe('processes that are stopped past their leases', () => {
  test('B01 B02 are refused whatever they try when they go on, and run nothing more', async () => {
    using cache = CodeCache.open()
    const count = draws(4, 4, 8)
    const { faults, stops, met, refused } = await stopWorkers(count, {
      seed: 1,
      compileCache: cache.folder,
      signal,
    })
    expect(faults).toEqual([])
    expect(stops).toBe(count)
    expect(met).toBeGreaterThan(0)
    expect(refused).toBeGreaterThanOrEqual(11 * count)
  })

  const name = LeaseLost.name
  const stopped: StoppedWorker = {
    taskId: 't',
    told: {
      token: 1,
      step: name,
      nextStep: name,
      heartbeat: name,
      output: name,
      checkpoint: name,
      command: name,
      signal: name,
      writes: {
        recordStep: 'stale',
        progress: 'stale',
        appendOutput: 'stale',
        checkpoint: 'stale',
        settle: 'stale',
      },
    },
    end: { before: 1, held: 2, after: 2, by: 2 },
    leases: ['expired', 'completed'],
    events: ['task.started', 'step.completed', 'step.completed', 'step.completed', 'task.completed'],
    output: [2],
    meets: false,
    wasTakenOver: true,
  }
  const ran = (stepKey: string, fencingToken = 1) => ({
    taskId: 't',
    stepKey,
    fencingToken,
    attempt: fencingToken,
    idempotencyKey: stepKey,
  })
  const ledger = [ran('before'), ran('held'), ran('held', 2), ran('after', 2)]

  test.each<[string, Partial<StoppedWorker>]>([
    ['a step that was recorded', { told: { ...stopped.told, step: 'done' } }],
    ['a command that ran', { told: { ...stopped.told, command: 'done' } }],
    ['a signal that did not abort', { told: { ...stopped.told, signal: 'none' } }],
    [
      'a write that was taken',
      { told: { ...stopped.told, writes: { ...stopped.told.writes, settle: 'ok' } } },
    ],
    ['a process that never went on', { told: { ...stopped.told, writes: {} } }],
    ['its own result', { end: { ...stopped.end, by: 1 } }],
    ['its step in the result', { end: { ...stopped.end, held: 1 } }],
    ['a recorded step that ran again', { end: { ...stopped.end, before: 2 } }],
    ['its output', { output: [1, 2] }],
    ['a lease that it kept', { leases: ['completed'] }],
    ['two completions', { leases: ['completed', 'completed'] }],
    ['two ends', { events: ['task.completed', ...stopped.events] }],
    ['a step too many', { events: ['step.completed', ...stopped.events] }],
  ])('would be found out: %s', (_, change) => {
    expect(stopFaults(stopped, ledger)).toEqual([])
    expect(stopFaults({ ...stopped, ...change }, ledger)).not.toEqual([])
  })

  test('would be found out: a step that it ran when it went on', () => {
    expect(stopFaults(stopped, [...ledger, ran('after')])).toEqual([
      't: the stopped process ran before, held, after',
    ])
  })
})

describe('the command', () => {
  async function run(...args: readonly string[]) {
    const said = { out: '', err: '' }
    const stream = (name: 'out' | 'err') => ({ write: (text: string) => void (said[name] += text) })
    const code = await racesCommand(args, { out: stream('out'), err: stream('err') }, signal)
    return { code, ...said }
  }

  test('prints the result as a page, and exits with 0 when every rule held', async () => {
    const { code, out, err } = await run('--cancels', '200', '--stops', '0', '--histories', '0', '--evidence')
    expect(err).toBe('200 cancels against the end\n0 stops of a process past its lease\n0 histories\n')
    expect(out).toMatch(/^# Evidence: races\n/)
    expect(out).toContain('| races | 200 |')
    expect(code).toBe(exitCode.ok)
  })

  test('refuses what it does not know', async () => {
    expect(await run('--stop', '1')).toMatchObject({ code: exitCode.usage, out: '' })
    expect(await run('--stops', 'many')).toMatchObject({ code: exitCode.usage, out: '' })
  })

  test('fails when too little happened, and says of what', () => {
    const cancels = { faults: [], races: 100, completed: 99, canceled: 1, close: 100, fromElsewhere: 50 }
    const stops = { faults: [], stops: 1, met: 1, refused: 11, inCommit: 0, early: 0 }
    expect(tooLittle({ cancels, stops, histories: [] })).toEqual([
      'tasks that were canceled: 1, at least 10 are needed',
    ])
  })
})
