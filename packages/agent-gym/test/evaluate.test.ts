import { describe, expect, it } from 'vitest'
import { evaluate } from '../src/measure/evaluate.ts'
import type { Run } from '../src/measure/measurements.ts'
import { Expectation } from '../src/scenario/expectation.ts'
import { standingExpectations } from '../src/scenario/standing.ts'
import {
  completedHistory,
  completedTask,
  effect,
  goodRun,
  history,
  life,
  measured,
  pass,
  planned,
  started,
  submitted,
  taskId,
  taskWith,
} from './builders.ts'

const holds = (expectation: Record<string, unknown>, ...runs: readonly Run[]) => {
  const [finding] = evaluate([Expectation.parse(expectation)], measured(...runs))
  if (finding === undefined) throw new Error('no finding')
  return finding
}

describe('an expectation', () => {
  it('is met on good data, each standing one', () => {
    const findings = evaluate(standingExpectations({ evidence: 'full' }), measured(goodRun()))
    expect(findings.filter(({ pass: met }) => !met)).toEqual([])
  })

  it('fails where nothing was measured, whatever it says', () => {
    expect(holds({ measure: 'resumeMs.p95', below: 1000 }, goodRun())).toMatchObject({
      pass: false,
      measured: null,
      reason: 'nothing to measure it on',
    })
  })

  it('a rate is held to the share of its bound that plain SQLite reached beside the run, never to more than the bound', () => {
    const bound = { measure: 'throughputPerSec', atLeast: 1, atSqliteRate: 100 }
    const run = (sqliteRate: number | null) => goodRun(3, { sqliteRate })
    const rate = holds({ measure: 'throughputPerSec', above: 0 }, run(null)).measured as number
    const at = (share: number, sqliteRate: number | null) =>
      holds({ ...bound, atLeast: rate * share }, run(sqliteRate)).pass
    expect([at(1, 100), at(1.1, 100), at(1.1, 1_000), at(1.1, null)]).toEqual([true, false, false, false])
    expect([at(1.9, 50), at(2.1, 50)]).toEqual([true, false])
    expect(holds({ ...bound, atLeast: rate * 1.9 }, run(20), run(50))).toMatchObject({
      pass: true,
      sqliteRates: [20, 50],
    })
  })

  it('a time is given as much more as plain SQLite was slower beside the run, and never less than its bound', () => {
    const run = (sqliteRate: number | null) => goodRun(3, { sqliteRate })
    const p50 = holds({ measure: 'pickupMs.p50.median', above: -1 }, run(null)).measured as number
    const at = (share: number, ...rates: (number | null)[]) =>
      holds({ measure: 'pickupMs.p50.median', below: p50 * share, atSqliteRate: 100 }, ...rates.map(run)).pass
    expect(p50).toBeGreaterThan(0)
    expect([at(1.1, 100), at(0.9, 100), at(0.9, 1_000), at(0.9, null)]).toEqual([true, false, false, false])
    expect([at(0.6, 50), at(0.4, 50)]).toEqual([true, false])
    // Most of the runs have to hold.
    expect([at(0.6, 50, 50, 100), at(0.6, 50, 100, 100)]).toEqual([true, false])
  })

  it('fails on fewer samples than it needs', () => {
    expect(holds({ measure: 'pickupMs.p50', below: 1000, samples: 4 }, goodRun(3))).toMatchObject({
      pass: false,
      reason: 'rests on 3 samples; 4 are needed',
    })
    expect(holds({ measure: 'pickupMs.p50', below: 1000, samples: 3 }, goodRun(3)).pass).toBe(true)
  })

  it.each([
    [{ equals: 3 }, true],
    [{ equals: 2 }, false],
    [{ atMost: 3 }, true],
    [{ atMost: 2 }, false],
    [{ atLeast: 3 }, true],
    [{ atLeast: 4 }, false],
    [{ below: 4 }, true],
    [{ below: 3 }, false],
    [{ above: 2 }, true],
    [{ above: 3 }, false],
  ])('compares with %o', (bound, met) => {
    expect(holds({ measure: 'completed', ...bound }, goodRun(3)).pass).toBe(met)
  })

  it('on what is answered at a depth names the lane and the depth', () => {
    const asked = { measure: 'admission', equals: 'queue_full', lane: 'batch', depth: 500 }
    expect(Expectation.parse(asked)).toEqual(asked)
    for (const part of ['lane', 'depth'])
      expect(() => Expectation.parse({ ...asked, [part]: undefined })).toThrow('a lane and a depth')
  })

  it('has exactly one bound', () => {
    expect(() => Expectation.parse({ measure: 'lost' })).toThrow('exactly one')
    expect(() => Expectation.parse({ measure: 'lost', equals: 0, atMost: 1 })).toThrow('exactly one')
  })
})

describe('bad data is found:', () => {
  const good = goodRun()
  const without = (n: number) => good.tasks.filter((task) => task.n !== n)
  const spoilt: readonly (readonly [string, string, Partial<Run>])[] = [
    ['an acknowledged task that is not in the store', 'lost', { tasks: without(2) }],
    [
      'a task that never ended',
      'lost',
      { tasks: [...without(2), taskWith(2, completedHistory(2).slice(0, 3), { state: 'running' })] },
    ],
    [
      'an accepted task that is stored as rejected',
      'lost',
      { tasks: [...without(2), completedTask(2, { state: 'rejected' })] },
    ],
    ['a row nobody submitted', 'invented', { tasks: [...good.tasks, completedTask(9)] }],
    [
      'two rows of one submission',
      'invented',
      { tasks: [...good.tasks, completedTask(2, { taskId: 'other' })] },
    ],
    [
      'an effect twice under one lease',
      'duplicateEffects',
      { ledger: [...good.ledger, effect(1, 'hash:0')] },
    ],
    ['a no-op task entered twice', 'duplicateEffects', { visits: { entered: 3, repeated: 1 } }],
    ['a step no witness saw', 'missingEffects', { ledger: good.ledger.slice(1) }],
    ['an effect of an unknown task', 'strayEffects', { ledger: [...good.ledger, effect(77, 'hash:0')] }],
    ['an effect of an unknown step', 'strayEffects', { ledger: [...good.ledger, effect(1, 'hash:7')] }],
    [
      'steps in the wrong order',
      'reordered',
      { ledger: [effect(1, 'hash:1'), effect(1, 'hash:0'), ...good.ledger.slice(2)] },
    ],
    [
      'another idempotency key for the same step',
      'changedIdempotencyKeys',
      { ledger: [...good.ledger, effect(1, 'hash:0', 2, 'other')] },
    ],
    ['a line of the ledger that is torn', 'ledgerFaults', { ledgerFaults: 1 }],
    [
      'a wrong output',
      'wrongResults',
      { tasks: [...without(2), completedTask(2, { output: { digest: 'x' } })] },
    ],
    [
      'a wrong file',
      'wrongResults',
      { results: [{ n: 1, expected: { digest: 'd1' }, written: { digest: 'x' } }] },
    ],
    ['a process left behind', 'leaks', { leaks: [{ kind: 'processes', what: 'tail -f log', count: 1 }] }],
    ['a timer left behind', 'leaks', { leaks: [{ kind: 'timers', what: 'timer', count: 2 }] }],
    [
      'a gap in the events',
      'historyFaults',
      {
        tasks: [
          ...without(2),
          taskWith(
            2,
            completedHistory(2).filter(({ seq }) => seq !== 3),
            { state: 'completed' },
          ),
        ],
      },
    ],
    [
      'a fencing token that skips',
      'historyFaults',
      {
        tasks: [
          taskWith(1, history(['task.queued', 1, {}], ['task.started', 2, started(1, 2)]), {
            state: 'running',
          }),
        ],
      },
    ],
    [
      'a completion by a holder whose lease was gone',
      'historyFaults',
      {
        tasks: [
          taskWith(
            1,
            history(
              ['task.queued', 1, {}],
              ['task.started', 2, started(1, 1)],
              ['task.requeued', 3, { reason: 'expired' }],
              ['task.started', 4, started(1, 2)],
              ['task.completed', 5, { leaseId: 'lease-1-1' }],
            ),
            { state: 'completed' },
          ),
        ],
      },
    ],
  ]

  it.each(spoilt)('%s (%s)', (_, measure, change) => {
    expect(holds({ measure, equals: 0 }, good).pass).toBe(true)
    const finding = holds({ measure, equals: 0 }, goodRun(3, change))
    expect(finding.pass).toBe(false)
    expect(finding.measured).toBeGreaterThan(0)
  })

  it('a step that ran again after its memo, under a later lease', () => {
    const memoThenAgain = history(
      ['task.queued', 1, {}],
      ['task.started', 2, started(1, 1)],
      ['step.completed', 3, { key: 'hash:0', position: 0 }],
      ['task.requeued', 4, { reason: 'owner_dead' }],
      ['task.started', 5, started(1, 2)],
      ['step.completed', 6, { key: 'hash:1', position: 1 }],
      ['task.completed', 7, { leaseId: 'lease-1-2' }],
    )
    const run = (ledger: Run['ledger']) =>
      goodRun(1, { tasks: [taskWith(1, memoThenAgain, { state: 'completed' })], ledger })
    // Step 1 was under way at the crash: its second run is allowed. Step 0 had its memo: its second run is not.
    const allowed = [effect(1, 'hash:0'), effect(1, 'hash:1'), effect(1, 'hash:1', 2)]
    expect(holds({ measure: 'duplicateEffects', equals: 0 }, run(allowed)).pass).toBe(true)
    expect(
      holds({ measure: 'duplicateEffects', equals: 0 }, run([...allowed, effect(1, 'hash:0', 2)])),
    ).toMatchObject({ measured: 1, pass: false })
  })

  it('an effect that comes after one of a later lease', () => {
    const ledger = [effect(1, 'hash:0'), effect(1, 'hash:1', 2), effect(1, 'hash:1', 1)]
    expect(holds({ measure: 'lateEffects', equals: 0 }, goodRun(1, { ledger }))).toMatchObject({
      measured: 1,
      pass: false,
    })
  })

  it('an order hash that differs between runs', () => {
    expect(holds({ measure: 'orderHashStable', equals: true }, goodRun(), goodRun()).pass).toBe(true)
    const other = goodRun(3, {
      tasks: [
        ...without(2),
        taskWith(
          2,
          completedHistory(2).map((event) =>
            event.seq === 3 ? { ...event, data: { ...event.data, result: 9 } } : event,
          ),
          { state: 'completed' },
        ),
      ],
    })
    expect(holds({ measure: 'orderHashStable', equals: true }, goodRun(), other)).toMatchObject({
      measured: false,
      pass: false,
    })
  })

  it('an order hash of one run only', () => {
    expect(holds({ measure: 'orderHashStable', equals: true }, goodRun()).pass).toBe(false)
  })

  it('a task of a lower lane started while a higher one was queued', () => {
    const task = (n: number, lane: 'batch' | 'interactive', at: number) =>
      taskWith(n, history(['task.queued', 10, {}], ['task.started', at, started(n, 1, { dispatch: at })]), {
        lane,
        submittedAt: 10,
        state: 'running',
      })
    const run = (batchAt: number, interactiveAt: number) =>
      goodRun(2, { tasks: [task(1, 'batch', batchAt), task(2, 'interactive', interactiveAt)] })
    expect(holds({ measure: 'laneInversions', equals: 0 }, run(30, 20)).pass).toBe(true)
    expect(holds({ measure: 'laneInversions', equals: 0 }, run(20, 30)).pass).toBe(false)
  })

  it('a younger task of the same lane started first', () => {
    const task = (n: number, at: number) =>
      taskWith(n, history(['task.queued', 10, {}], ['task.started', at, started(n, 1, { dispatch: at })]), {
        submittedAt: 10,
        state: 'running',
      })
    expect(
      holds({ measure: 'fifoInversions', equals: 0 }, goodRun(2, { tasks: [task(1, 20), task(2, 30)] })).pass,
    ).toBe(true)
    expect(
      holds({ measure: 'fifoInversions', equals: 0 }, goodRun(2, { tasks: [task(1, 30), task(2, 20)] })).pass,
    ).toBe(false)
  })

  it('a task that was queued later does not count as passed over', () => {
    const early = taskWith(
      2,
      history(['task.queued', 10, {}], ['task.started', 20, started(2, 1, { dispatch: 1 })]),
      { submittedAt: 10 },
    )
    const late = taskWith(
      1,
      history(['task.queued', 25, {}], ['task.started', 30, started(1, 1, { dispatch: 2 })]),
      { submittedAt: 25 },
    )
    expect(holds({ measure: 'fifoInversions', equals: 0 }, goodRun(2, { tasks: [early, late] })).pass).toBe(
      true,
    )
  })

  it('an admission that differs from the rule, or between runs', () => {
    const run = (answer: { accepted: boolean; reason?: string }) =>
      goodRun(1, {
        tasks: [completedTask(1, { lane: 'batch' })],
        submissions: [{ ...submitted(1), ...answer, depth: 500, process: 'main' }],
      })
    const expectation = { measure: 'admission', lane: 'batch', depth: 500, equals: 'backpressure' }
    const right = run({ accepted: false, reason: 'backpressure' })
    expect(holds(expectation, right).pass).toBe(true)
    expect(holds(expectation, run({ accepted: true }))).toMatchObject({ measured: 'accepted', pass: false })
    expect(holds(expectation, right, run({ accepted: true }))).toMatchObject({
      measured: 'mixed',
      pass: false,
    })
    expect(holds({ ...expectation, depth: 501 }, right)).toMatchObject({ measured: null, pass: false })
  })

  it('a cancellation that was acknowledged before it was done, signaled late, or left its tool running', () => {
    const cancel = (change: object) =>
      goodRun(1, {
        cancels: [
          {
            taskId: taskId(1),
            n: 1,
            at: 2000,
            acknowledgedAt: 2003,
            canceled: true,
            stateAfter: 'canceled',
            signaledAt: 2005,
            toolProcesses: 2,
            goneAt: 2100,
            ...change,
          },
        ],
      })
    const good1 = cancel({})
    expect(holds({ measure: 'notCanceledAtAck', equals: 0 }, good1).pass).toBe(true)
    expect(holds({ measure: 'cancelSignalMs.max', below: 100 }, good1)).toMatchObject({
      measured: 5,
      pass: true,
    })
    expect(holds({ measure: 'cancelGoneMs.max', atMost: 1500 }, good1)).toMatchObject({
      measured: 100,
      pass: true,
    })
    expect(holds({ measure: 'notCanceledAtAck', equals: 0 }, cancel({ stateAfter: 'running' })).pass).toBe(
      false,
    )
    expect(holds({ measure: 'cancelSignalMs.max', below: 100 }, cancel({ signaledAt: 2150 })).pass).toBe(
      false,
    )
    // One stall of three does not decide the median, two do.
    const late = cancel({ signaledAt: 2150 })
    const usual = { measure: 'cancelSignalMs.max.median', below: 100, samples: 3 }
    expect(holds(usual, good1, late, good1)).toMatchObject({ measured: 5, rounds: [5, 150, 5], pass: true })
    expect(holds(usual, late, good1, late)).toMatchObject({ measured: 150, pass: false })
    // A tool that is still there counts until the end of the run, at 9000.
    expect(holds({ measure: 'cancelGoneMs.max', atMost: 1500 }, cancel({ goneAt: null }))).toMatchObject({
      measured: 7000,
      pass: false,
    })
  })

  it('a task that started after its cancellation', () => {
    const events = history(
      ['task.queued', 1, {}],
      ['task.canceled', 2, {}],
      ['task.started', 3, started(1, 1)],
    )
    const cancels = [
      {
        taskId: taskId(1),
        n: 1,
        at: 1,
        acknowledgedAt: 2,
        canceled: true,
        stateAfter: 'canceled',
        signaledAt: null,
        toolProcesses: 0,
        goneAt: null,
      },
    ]
    expect(
      holds(
        { measure: 'startedAfterCancel', equals: 0 },
        goodRun(1, { tasks: [taskWith(1, events)], cancels }),
      ).pass,
    ).toBe(false)
  })

  it('too little throughput, by the best of the runs, each of which is listed', () => {
    const run = (endAt: number) =>
      goodRun(2, { tasks: [completedTask(1, { finishedAt: 1300 }), completedTask(2, { finishedAt: endAt })] })
    // From the first submission at 1201: 2 tasks in 1 s, in half a second.
    expect(holds({ measure: 'throughputPerSec', atLeast: 4 }, run(2201), run(1701))).toMatchObject({
      pass: true,
      measured: 4,
      rounds: [2, 4],
    })
    expect(holds({ measure: 'throughputPerSec', atLeast: 4.1 }, run(2201), run(1701)).pass).toBe(false)
  })

  it('more tasks of a model in flight than its quota allows', () => {
    const task = (n: number, from: number, to: number) =>
      taskWith(
        n,
        history(
          ['task.queued', 1, {}],
          ['task.started', from, started(n, 1)],
          ['task.completed', to, { leaseId: `lease-${n}-1` }],
        ),
        { model: 'large', state: 'completed' },
      )
    const apart = goodRun(2, { tasks: [task(1, 10, 20), task(2, 20, 30)] })
    const together = goodRun(2, { tasks: [task(1, 10, 20), task(2, 19, 30)] })
    expect(holds({ measure: 'peakInFlight', model: 'large', atMost: 1 }, apart).pass).toBe(true)
    expect(holds({ measure: 'peakInFlight', model: 'large', atMost: 1 }, together).pass).toBe(false)
  })

  it('more tasks in flight than slots; what a dead process held counts until its death, whenever that was noticed', () => {
    const task = (n: number, from: number, to: number, reason?: string) =>
      taskWith(
        n,
        history(
          ['task.queued', 1, {}],
          ['task.started', from, started(n, 1)],
          reason === undefined
            ? ['task.completed', to, { leaseId: `lease-${n}-1` }]
            : ['task.requeued', to, { reason }],
        ),
      )
    const killed = life({ endedAt: 20, exitSignal: 'SIGKILL' })
    const run = (reason: string) =>
      goodRun(2, { lives: [killed, life({ life: 2 })], tasks: [task(1, 10, 40, reason), task(2, 25, 30)] })
    expect(holds({ measure: 'peakInFlight', atMost: 1 }, run('owner_dead')).pass).toBe(true)
    expect(holds({ measure: 'peakInFlight', atMost: 1 }, run('expired')).pass).toBe(false)
  })

  it('a queue deeper than its bound; a place that changes hands within a ms is one place', () => {
    const queued = (n: number, at: number, canceledAt: number) =>
      taskWith(n, history(['task.queued', at, {}], ['task.canceled', canceledAt, { reason: 'probe' }]), {
        state: 'canceled',
      })
    const handedOn = goodRun(2, { tasks: [queued(1, 10, 20), queued(2, 20, 30)] })
    const together = goodRun(2, { tasks: [queued(1, 10, 20), queued(2, 19, 30)] })
    expect(holds({ measure: 'peakDepth', equals: 1 }, handedOn).pass).toBe(true)
    expect(holds({ measure: 'peakDepth', equals: 1 }, together).pass).toBe(false)
  })

  it('one key that made two tasks', () => {
    const same = [1, 2].map((n) => planned(n, { group: 'same' }))
    const run = (second: string) =>
      goodRun(2, {
        workload: same,
        submissions: [submitted(1), { ...submitted(2), taskId: second }].map((note) => ({
          ...note,
          process: 'main',
        })),
      })
    expect(holds({ measure: 'distinctTasks', group: 'same', equals: 1 }, run(taskId(1))).pass).toBe(true)
    expect(holds({ measure: 'distinctTasks', group: 'same', equals: 1 }, run(taskId(2))).pass).toBe(false)
  })

  it('a process that exits with another code', () => {
    const run = (exitCode: number) => goodRun(1, { lives: [life({ terminatedAt: 5000, exitCode })] })
    expect(holds({ measure: 'exitCode', process: 'main', equals: 1 }, run(1)).pass).toBe(true)
    expect(holds({ measure: 'exitCode', process: 'main', equals: 1 }, run(0)).pass).toBe(false)
  })

  it('work that only one of two processes did', () => {
    const lives = [life(), life({ process: 'second' })]
    const run = (second: string) => goodRun(2, { lives, passes: [pass(1), pass(2, { process: second })] })
    expect(holds({ measure: 'jain', atLeast: 0.8 }, run('second')).pass).toBe(true)
    expect(holds({ measure: 'jain', atLeast: 0.8 }, run('main')).pass).toBe(false)
  })
})
