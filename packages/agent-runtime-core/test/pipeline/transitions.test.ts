import { describe, expect, test } from 'vitest'
import { heldBackAmong } from '../../src/pipeline/held-back.ts'
import { emptyLog, type PipelineLog, published, stageBegun } from '../../src/pipeline/log.ts'
import {
  isPipelineMemo,
  PIPELINE_KEY,
  partitionFor,
  partsOf,
  pipelineKeyText,
  type PipelineTerms,
  publicationKey,
  receiptKey,
  stageIn,
  stageCallText,
  stageKey,
  type StagePart,
  stagePartText,
  type StageWait,
  stageWaitIn,
  stageWaitKey,
} from '../../src/pipeline/pipeline.ts'
import { settlePipelines } from '../../src/pipeline/settle-pipelines.ts'
import { slotShortageText } from '../../src/pipeline/slots.ts'
import { beginStage, endStage, isStageWaitOver } from '../../src/pipeline/standing.ts'
import { openPipeline, publish, receive } from '../../src/pipeline/transitions.ts'
import { stageWaitText } from '../../src/pipeline/words.ts'
import type { Write } from '../../src/store/port.ts'
import type { TaskRow, WorkingSet } from '../../src/transition.ts'
import type { WaitRow } from '../../src/wait/row.ts'
import { ids, lease, now, type Rows, task, workingSet } from '../transition/rows.ts'

const terms = {
  stages: [
    { stage: 'from', publishes: ['x', 'y'], subscribes: [] },
    { stage: 'to', publishes: [], subscribes: ['x', 'y'] },
  ],
  maxUnread: 3,
}
const leaseId = ids.lease(3)
const begun = (from: number, to: number) =>
  stageBegun(
    { terms, log: stageBegun({ terms, log: emptyLog(terms) }, { stage: 'from' }, from) },
    { stage: 'to' },
    to,
  )
const withEvents = (log: PipelineLog, type: string, count: number) =>
  published({ terms, log }, type, { count })
const pipelinesOf = (log: PipelineLog) => new Map([[2, { task: 2, terms, log }]])
const pipeline: TaskRow = { ...task, id: 2, state: 'waiting', lease: null, waitReason: 'children' }

/** Task 7, which runs, is the stage of this name of the pipeline that is task 2; task 8 is the other one. */
function stageSet(stage: 'from' | 'to', log = stage === 'from' ? begun(7, 8) : begun(8, 7), more: Rows = {}) {
  return workingSet({
    tasks: [{ ...task, parent: 2 }, pipeline],
    leases: [lease],
    pipelines: pipelinesOf(log),
    ...more,
  })
}
const logIn = (ws: WorkingSet) => ws.pipelines.get(2)?.log

const publication = (more: Partial<Write<'publish'>> = {}): Write<'publish'> => ({
  kind: 'publish',
  leaseId,
  key: 'p',
  position: 0,
  type: 'x',
  events: ['1', '2'],
  ...more,
})
const receipt = (more: Partial<Write<'receive'>> = {}): Write<'receive'> => ({
  kind: 'receive',
  leaseId,
  key: 'r',
  position: 0,
  types: ['x'],
  max: 9,
  ...more,
})

describe('the beginning of a pipeline (docs/semantics.md 13.1)', () => {
  const open = (rows: Rows = {}, stages = terms.stages, id = leaseId) => {
    const ws = workingSet({ tasks: [task], leases: [lease], ...rows })
    const it = { kind: 'openPipeline', leaseId: id, key: PIPELINE_KEY, position: 0 } as const
    return { ws, outcome: openPipeline(ws, { ...it, terms: { ...terms, stages } }) }
  }

  test('13.1 is a step of its task, with an empty log', () => {
    const { ws, outcome } = open()
    expect(outcome).toEqual({ fenced: 'ok', as: 'open' })
    expect(ws.pipelines.get(7)).toEqual({ task: 7, terms, log: emptyLog(terms) })
    expect(ws.events.map(({ type }) => type)).toEqual(['step.completed'])
    expect(JSON.parse(ws.events[0]?.data ?? '')).toEqual({
      durationMs: 0,
      key: PIPELINE_KEY,
      position: 0,
      result: terms,
    })
  })

  test('13.1 happens once: what was published since stays', () => {
    const log = withEvents(emptyLog(terms), 'x', 1)
    const { ws, outcome } = open({ pipelines: new Map([[7, { task: 7, terms, log }]]) })
    expect([outcome, ws.events]).toEqual([{ fenced: 'ok', as: 'open' }, []])
    expect(ws.pipelines.get(7)?.log).toBe(log)
  })

  test('13.1 is refused to a lease that has ended, to a caller, and with stages that break a rule', () => {
    expect(open({}, terms.stages, ids.lease(9)).outcome).toEqual({ fenced: 'stale' })
    expect(open({ leases: [{ ...lease, worker: 0 }] }).outcome).toEqual({ fenced: 'stale' })
    const { ws, outcome } = open({}, terms.stages.toReversed())
    expect(outcome).toEqual({
      fenced: 'ok',
      as: 'invalid',
      violations: [{ rule: 'invalid_subscription', stage: 'to', missing: ['x', 'y'] }],
    })
    expect([ws.events, ws.pipelines.get(7)]).toEqual([[], undefined])
  })
})

describe('a publication (docs/semantics.md 13.2)', () => {
  test('13.2 goes to the end of the log and to the output of the pipeline, with its memo', () => {
    const ws = stageSet('from', withEvents(begun(7, 8), 'y', 1))
    expect(publish(ws, publication())).toEqual({ fenced: 'ok', as: 'published' })
    expect(ws.outputs).toEqual(
      ['1', '2'].map((data, at) => ({
        task: 2,
        taskId: ids.task(2),
        seq: 2 + at,
        attempt: 1,
        at: now.at,
        data: `{"data":${data},"stage":"from","type":"x"}`,
        round: null,
      })),
    )
    expect(logIn(ws)).toMatchObject({ seq: 3, published: { x: 2, y: 1 } })
    expect(JSON.parse(ws.events[0]?.data ?? '')).toMatchObject({ key: 'p', result: { count: 2, first: 2 } })
  })

  test('13.2 one of several types keeps their order, and each has the hash of its key', () => {
    const ws = stageSet('from')
    const it = publication({ type: ['x', 'x', 'y'], events: ['1', '2', '3'], keyHashes: [4, null, 0] })
    expect(publish(ws, it)).toEqual({ fenced: 'ok', as: 'published' })
    expect(ws.outputs.map(({ data }) => data)).toEqual([
      '{"data":1,"stage":"from","type":"x","keyHash":4}',
      '{"data":2,"stage":"from","type":"x"}',
      '{"data":3,"stage":"from","type":"y","keyHash":0}',
    ])
    expect(logIn(ws)?.unread).toEqual({
      x: { before: 0, ranges: [[1, 2]] },
      y: { before: 0, ranges: [[3, 1]] },
    })
  })

  test('13.2 has the same log whether its events come at once or one by one', () => {
    const parted = { stages: [terms.stages[0]!, { ...terms.stages[1]!, partitions: 2 }], maxUnread: 9 }
    const keyHashes = [4, null, 1, null]
    const once = published({ terms: parted, log: emptyLog(parted) }, 'x', { count: 4, keyHashes })
    let each = emptyLog(parted)
    for (const hash of keyHashes)
      each = published({ terms: parted, log: each }, 'x', { count: 1, keyHashes: [hash] })
    expect(each).toEqual(once)
  })

  test('13.2 one of a partition says so, and its pipeline has the name that was given to it', () => {
    const stages = [{ stage: 'from', publishes: ['found'], subscribes: [], partitions: 2 }]
    const parted = { stages, maxUnread: 3 }
    const log = stageBegun({ terms: parted, log: emptyLog(parted) }, { stage: 'from', partition: 2 }, 7)
    const ws = stageSet('from', log, {
      tasks: [
        { ...task, parent: 2 },
        { ...pipeline, explicitId: 'mine' },
      ],
      pipelines: new Map([[2, { task: 2, terms: parted, log }]]),
    })
    publish(ws, publication({ type: 'found', events: ['1'] }))
    expect(ws.outputs.map(({ taskId, data }) => [taskId, data])).toEqual([
      ['mine', '{"data":1,"stage":"from","type":"found","partition":2}'],
    ])
  })

  test('13.2 is written while a stage has one less than the most to receive, and tells what is full then', () => {
    const at = (count: number) => {
      const ws = stageSet('from', withEvents(begun(7, 8), 'x', count))
      return { ws, outcome: publish(ws, publication({ type: ['y', 'x'] })) }
    }
    expect(at(1).outcome).toEqual({ fenced: 'ok', as: 'published' })
    expect(at(2).outcome).toEqual({ fenced: 'ok', as: 'published', full: ['x'] })
    const { ws, outcome } = at(3)
    expect(outcome).toEqual({ fenced: 'ok', as: 'no_room', type: 'x' })
    expect([ws.events, ws.outputs, logIn(ws)?.seq]).toEqual([[], [], 3])
  })

  test('13.2 that was recorded answers again, and writes nothing', () => {
    const ws = stageSet('from', withEvents(begun(7, 8), 'x', 1))
    const first = publish(ws, publication())
    const before = [ws.events.length, ws.outputs.length, logIn(ws)?.seq]
    expect(publish(ws, publication())).toEqual(first)
    expect(first).toEqual({ fenced: 'ok', as: 'published', full: ['x'] })
    expect([ws.events.length, ws.outputs.length, logIn(ws)?.seq]).toEqual(before)
  })

  test('13.2 is refused to a lease that has ended, to a task that is no stage, and of a type of another stage', () => {
    const refused = (ws: WorkingSet, more: Partial<Write<'publish'>> = {}) => publish(ws, publication(more))
    expect(refused(stageSet('from'), { leaseId: ids.lease(9) })).toEqual({ fenced: 'stale' })
    const unknown = { fenced: 'ok', as: 'unknown_stage' }
    expect(refused(stageSet('from', begun(9, 8)))).toEqual(unknown)
    expect(refused(stageSet('from', undefined, { pipelines: new Map() }))).toEqual(unknown)
    expect(refused(stageSet('from', undefined, { tasks: [task, pipeline] }))).toEqual(unknown)
    expect(refused(stageSet('from'), { type: ['x', 'z'] })).toEqual({
      fenced: 'ok',
      as: 'unauthorized',
      stage: 'from',
      type: 'z',
      allowed: ['x', 'y'],
    })
    expect(refused(stageSet('to'))).toMatchObject({ as: 'unauthorized', stage: 'to', allowed: [] })
  })
})

describe('a receipt (docs/semantics.md 13.2)', () => {
  test('13.2 takes the next events, with their places as its memo', () => {
    const ws = stageSet('to', withEvents(withEvents(begun(8, 7), 'x', 3), 'y', 1))
    expect(receive(ws, receipt({ max: 2 }))).toEqual({ fenced: 'ok', as: 'received', ranges: [[1, 2]] })
    expect(JSON.parse(ws.events[0]?.data ?? '')).toMatchObject({ key: 'r', result: { ranges: [[1, 2]] } })
    expect(logIn(ws)?.unread).toEqual({
      x: { before: 2, ranges: [[3, 1]] },
      y: { before: 0, ranges: [[4, 1]] },
    })
    const again = receive(ws, receipt({ max: 2 }))
    expect(again).toEqual({ fenced: 'ok', as: 'received', ranges: [[1, 2]] })
    expect(ws.events).toHaveLength(1)
  })

  test('13.2 tells which of its types are still full', () => {
    const ws = () => stageSet('to', withEvents(begun(8, 7), 'x', 4))
    expect(receive(ws(), receipt({ max: 1 }))).toMatchObject({ ranges: [[1, 1]], full: ['x'] })
    expect(receive(ws(), receipt({ max: 2 }))).not.toHaveProperty('full')
    const twice = ws()
    receive(twice, receipt({ max: 1 }))
    expect(receive(twice, receipt({ max: 1 }))).toMatchObject({ ranges: [[1, 1]], full: ['x'] })
  })

  test('13.2 an empty one writes nothing; the end of the stream is recorded', () => {
    const ws = stageSet('to')
    expect(receive(ws, receipt())).toEqual({ fenced: 'ok', as: 'none' })
    expect(ws.events).toEqual([])
    endStage(ws, 2, stageKey({ stage: 'from' }))
    expect(receive(ws, receipt())).toEqual({ fenced: 'ok', as: 'received', ranges: [] })
    expect(JSON.parse(ws.events[0]?.data ?? '')).toMatchObject({ result: { ranges: [] } })
  })

  test('13.2 is refused of a type that the stage does not subscribe to', () => {
    expect(receive(stageSet('to'), receipt({ types: ['x', 'z'] }))).toEqual({
      fenced: 'ok',
      as: 'unauthorized',
      stage: 'to',
      type: 'z',
      allowed: ['x', 'y'],
    })
    expect(receive(stageSet('from'), receipt())).toMatchObject({ as: 'unauthorized', stage: 'from' })
    expect(receive(stageSet('to'), receipt({ leaseId: ids.lease(9) }))).toEqual({ fenced: 'stale' })
  })
})

describe('stages that wait (docs/semantics.md 13.2)', () => {
  const waitOf = (wait: StageWait | undefined): WaitRow => ({
    task: 8,
    key: wait === undefined ? 'nap' : stageWaitKey('0', wait),
    position: 0,
    kind: 'signal',
    name: '$stage',
    dueAt: null,
    terms: null,
  })
  const events: StageWait = { for: 'events', types: ['x'] }

  /** The state of task 8, which waits, after its pipeline has changed. */
  function woken(waits: readonly (StageWait | undefined)[], changes: Partial<TaskRow> = {}, count = 1) {
    const waiting = { ...task, id: 8, parent: 2, lease: null, waits: waits.length, ...changes }
    const ws = stageSet('from', begun(7, 8), {
      tasks: [
        { ...task, parent: 2 },
        pipeline,
        { ...waiting, state: changes.state ?? 'waiting', waitReason: changes.waitReason ?? 'signal' },
      ],
      waits: new Map([[8, waits.map(waitOf)]]),
    })
    ws.putPipeline({ task: 2, terms, log: withEvents(begun(7, 8), 'x', count) })
    settlePipelines(ws)
    expect(ws.nextPipeline()).toBeUndefined()
    return { state: ws.task(8)?.state, left: ws.waitsOf({ id: 8 }).length, ws }
  }

  test('13.2 go on when what they wait for has come', () => {
    const { state, left, ws } = woken([undefined, events])
    expect([state, left]).toEqual(['queued', 1])
    expect(ws.events.map(({ task: of, type }) => [of, type])).toEqual([[8, 'task.resumed']])
    expect(JSON.parse(ws.events[0]?.data ?? '')).toMatchObject({
      key: stageWaitKey('0', events),
      outcome: 'fired',
    })
    expect(woken([{ for: 'events', types: ['y'] }]).state).toBe('waiting')
    expect(woken([undefined]).state).toBe('waiting')
    expect(woken([]).state).toBe('waiting')
  })

  test('13.2 go on when there is room, and not before', () => {
    expect([2, 3].map((count) => woken([{ for: 'room', type: 'x' }], {}, count).state)).toEqual([
      'queued',
      'waiting',
    ])
  })

  test('13.2 that are parked, run or are over look for themselves', () => {
    expect(woken([events], { waitReason: 'divergence' }).state).toBe('waiting')
    expect(woken([events], { waitReason: 'budget' }).state).toBe('waiting')
    for (const state of ['running', 'queued', 'completed'] as const) {
      const it = woken([events], { state, waitReason: null })
      expect([it.state, it.left]).toEqual([state, 1])
    }
  })

  test('13.2 that were not loaded or not spawned are passed over', () => {
    const ws = stageSet('from', begun(7, 99))
    ws.putPipeline({ task: 2, terms, log: stageBegun({ terms, log: emptyLog(terms) }, { stage: 'to' }, 99) })
    settlePipelines(ws)
    expect(ws.events).toEqual([])
  })

  test('13.2 wait for their own pipeline alone', () => {
    const ws = stageSet('from', withEvents(begun(7, 8), 'x', 1))
    const over = (id: number, parent: number | null, wait: StageWait | undefined = events) =>
      isStageWaitOver(ws, { id, parent }, { key: waitOf(wait).key })
    expect(over(8, 2)).toBe(true)
    expect([over(8, null), over(8, 3), over(9, 2)]).toEqual([false, false, false])
    expect(isStageWaitOver(ws, { id: 8, parent: 2 }, { key: 'nap' })).toBe(false)
  })
})

describe('tasks of stages begin and end (docs/semantics.md 13.2)', () => {
  test('13.2 a child under the key of a stage is its task; another child changes nothing', () => {
    const ws = stageSet('from', emptyLog(terms))
    beginStage(ws, 2, stageKey({ stage: 'to' }), 8)
    expect(logIn(ws)?.parts).toMatchObject([{ stage: 'from' }, { stage: 'to', task: 8 }])
    expect(logIn(ws)?.parts[0]).not.toHaveProperty('task')
    endStage(ws, 2, stageKey({ stage: 'to' }))
    expect(logIn(ws)?.parts.map(({ ended }) => ended)).toEqual([false, true])
    const other = stageSet('from')
    for (const change of [beginStage, endStage])
      for (const [parent, key] of [
        [2, 'to'],
        [3, stageKey({ stage: 'to' })],
        [3, 'to'],
      ] as const)
        change(other, parent, key, 8)
    expect(other.nextPipeline()).toBeUndefined()
  })
})

describe('the keys of pipelines (docs/semantics.md 13.2)', () => {
  test.each<[StagePart, string]>([
    [{ stage: 'a' }, "stage 'a'"],
    [{ stage: 'a', partition: 2 }, "partition 2 of stage 'a'"],
  ])('13.2 %j stands in the key of its task', (part, words) => {
    expect(stageIn(stageKey(part))).toStrictEqual(part)
    expect(stageIn(`a${stageKey(part)}`)).toBeUndefined()
    expect([stagePartText(part), pipelineKeyText(stageKey(part))]).toEqual([words, words])
  })

  test.each<[StageWait, string]>([
    [{ for: 'events', types: ['x', 'y'] }, "events of type 'x' or 'y'"],
    [{ for: 'room', type: 'x' }, "room for an event of type 'x'"],
  ])('13.2 %j stands in the key of its wait', (wait, words) => {
    const key = stageWaitKey('name', wait)
    expect(stageWaitIn(key)).toEqual(wait)
    expect(stageWaitIn(`a${key}`)).toBeUndefined()
    expect(stageWaitIn(key.replace(`${wait.for}/`, 'other/'))).toBeUndefined()
    expect([pipelineKeyText(key), stageWaitText(key, undefined)]).toEqual([words, words])
  })

  test('13.2 steps of stages have words, and other keys have none', () => {
    const keys = [
      PIPELINE_KEY,
      publicationKey('x', 'h', 0),
      publicationKey('x,y', 'h', 1),
      receiptKey(['x', 'y'], 3),
    ]
    expect(keys.map(pipelineKeyText)).toEqual([
      'the beginning of the pipeline',
      "a publication of 'x'",
      "a publication of 'x', 'y'",
      "receipt 3 of 'x,y'",
    ])
    expect(keys.map(stageCallText)).toEqual([
      undefined,
      "ctx.publish('x')",
      "ctx.publish('x', 'y')",
      "ctx.receive('x', 'y')",
    ])
    expect(keys.map(isPipelineMemo)).toEqual([true, true, true, true])
    const others = ['', 'x', `${PIPELINE_KEY}s`, stageKey({ stage: 'a' })]
    expect(others.map(isPipelineMemo)).toEqual([false, false, false, false])
    expect(others.slice(0, 3).map(pipelineKeyText)).toEqual([undefined, undefined, undefined])
    expect(stageWaitText('nap', undefined)).toBeUndefined()
  })

  test('13.2 a stage has a task, or one for each partition; an event without a key goes to them in turn', () => {
    const stage = { stage: 'a', publishes: [], subscribes: [] }
    expect(partsOf(stage)).toEqual([{ stage: 'a' }])
    expect(partsOf({ ...stage, partitions: 1 })).toEqual([{ stage: 'a', partition: 1 }])
    expect(partsOf({ ...stage, partitions: 2 })).toHaveLength(2)
    expect([0, 2, 3].map((nth) => partitionFor(null, nth, 3))).toEqual([1, 3, 1])
    expect([0, 4].map((hash) => partitionFor(hash, 1, 3))).toEqual([1, 2])
  })

  test('13.2 the words for slots that are short have the setting that ends it', () => {
    expect(slotShortageText({ tasks: 3, slots: 1 })).toContain('its 3 tasks share 1 slot, so')
    expect(slotShortageText({ tasks: 3, slots: 2 })).toContain('share 2 slots, so they take turns')
  })
})

describe('words for the wait of a stage (docs/semantics.md 13.2)', () => {
  const text = (wait: StageWait, log: PipelineLog, of = terms) =>
    stageWaitText(stageWaitKey('0', wait), { terms: of, log })

  test('13.2 name who holds it back, with how much', () => {
    expect(text({ for: 'room', type: 'x' }, withEvents(begun(7, 8), 'x', 3))).toBe(
      "room for an event of type 'x': stage 'to' has 3 of them to receive, and maxUnread is 3",
    )
    expect(text({ for: 'room', type: 'x' }, begun(7, 8))).toBe("room for an event of type 'x'")
  })

  test('13.2 say what to do about stages that hold others back, once for each', () => {
    const wide: PipelineTerms = {
      stages: [
        { stage: 'a', publishes: ['x', 'y', 'z'], subscribes: [] },
        { stage: 'b', publishes: [], subscribes: ['x'] },
        { stage: 'c', publishes: [], subscribes: ['x', 'y', 'z'], partitions: 2 },
      ],
      maxUnread: 1,
    }
    const log = published({ terms: wide, log: emptyLog(wide) }, 'x', { count: 2 })
    const room: StageWait = { for: 'room', type: 'x' }
    const events = (...types: readonly string[]): StageWait => ({ for: 'events', types })
    const told = (...waits: readonly (StageWait | undefined)[]) =>
      heldBackAmong({ terms: wide, log }, [{ stage: 'a' }], ({ stage, partition }) =>
        stage === 'a' ? [room, room] : partition === 2 ? waits : [],
      )
    const slow = "stage 'b', partition 1 of stage 'c', partition 2 of stage 'c' must receive some first"
    expect(
      heldBackAmong({ terms: wide, log: emptyLog(wide) }, [{ stage: 'a' }], () => [room]),
    ).toBeUndefined()
    expect(told()?.heldBack).toEqual([
      {
        stage: 'a',
        type: 'x',
        maxUnread: 1,
        by: [
          { stage: 'b', unread: 2 },
          { stage: 'c', partition: 1, unread: 1 },
          { stage: 'c', partition: 2, unread: 1 },
        ],
      },
    ])
    expect(told()?.advice).toBe(`${slow}: if that takes too long, raise its partitions, or maxUnread`)
    const stuck = told(events('y'), events('z', 'y'))
    expect(stuck?.heldBack[0]?.by.at(-1)?.awaits).toEqual(['y', 'z'])
    expect(stuck?.advice).toBe(
      "partition 2 of stage 'c' waits for events of type 'y' or 'z', and receives no others meanwhile: name all types in one receive, or raise maxUnread",
    )
    // A sleep, a signal or an approval, room for its own events, or the events that it holds back: it may go on.
    for (const other of [undefined, { ...room, type: 'z' }, events('z', 'x')])
      expect(told(events('y'), other)?.advice).toContain(slow)
  })

  test('13.2 name the first twenty that are held back and that hold one back, and ask for each once', () => {
    const wide: PipelineTerms = {
      stages: [
        { stage: 'a', publishes: ['x'], subscribes: [], partitions: 64 },
        { stage: 'b', publishes: [], subscribes: ['x'], partitions: 64 },
      ],
      maxUnread: 1,
    }
    const log = published({ terms: wide, log: emptyLog(wide) }, 'x', { count: 64 })
    const [from, to] = wide.stages.map(partsOf)
    const asked: string[] = []
    const found = heldBackAmong({ terms: wide, log }, from ?? [], (place) => {
      asked.push(stageKey(place))
      return place.stage === 'a' ? [{ for: 'room', type: 'x' }] : []
    })
    expect(asked.toSorted()).toEqual([...(from ?? []), ...(to ?? [])].map(stageKey).toSorted())
    expect(found?.heldBack.map(({ partition, by, moreBy }) => [partition, by.length, moreBy])).toEqual(
      Array.from({ length: 20 }, (_, at) => [at + 1, 20, 44]),
    )
    expect(found?.moreHeldBack).toBe(44)
    expect(found?.advice).toMatch(/partition 5 of stage 'b' and 59 more must receive/)
  })

  test('13.2 name whose events it waits for, five of them at the most', () => {
    const wait: StageWait = { for: 'events', types: ['x'] }
    expect(text(wait, begun(7, 8))).toBe("events of type 'x' from stage 'from', which has not ended")
    const many = (count: number) => {
      const stages = Array.from({ length: count }, (_, at) => ({
        stage: `s${at}`,
        publishes: ['x'],
        subscribes: [],
      }))
      const of = { stages, maxUnread: 3 }
      return text(wait, emptyLog(of), of)
    }
    expect(many(0)).toBe("events of type 'x'")
    expect(many(2)).toBe("events of type 'x' from stage 's0', stage 's1', which have not ended")
    expect(many(5)).toContain("stage 's4', which")
    expect(many(6)).toContain("stage 's4' and 1 more, which")
  })
})
