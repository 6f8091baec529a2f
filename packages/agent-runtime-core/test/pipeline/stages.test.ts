import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { checkStages, violationsText } from '../../src/pipeline/check.ts'
import {
  deliveryFor,
  emptyLog,
  hasRoom,
  holdersBack,
  isWaitOver,
  type PipelineCase,
  published,
  stageEnded,
  unreadCounts,
} from '../../src/pipeline/log.ts'
import { keyHash, type LogRange, stageKey, type StageTerms } from '../../src/pipeline/pipeline.ts'
import { logOf, type StoredLog, storedLog } from '../../src/pipeline/stored.ts'
import { slotShortage } from '../../src/pipeline/slots.ts'
import { SeededRandom } from '../../src/testing/index.ts'

function stage(name: string, subscribes: readonly string[], publishes: readonly string[]): StageTerms {
  return { stage: name, subscribes, publishes }
}

/** Example 7 of the paper. */
const recon = stage('recon', [], ['page_discovered', 'api_found', 'sitemap_built'])
const behavior = stage('behavior', ['page_discovered', 'sitemap_built'], ['test_generated', 'flow_mapped'])
const load = stage('load', ['api_found', 'flow_mapped'], ['load_result', 'perf_metric'])
const observer = stage(
  'observer',
  ['test_generated', 'load_result', 'perf_metric'],
  ['anomaly_detected', 'observation_complete'],
)
const synthesis = stage(
  'synthesis',
  ['test_generated', 'load_result', 'anomaly_detected', 'observation_complete'],
  ['final_report'],
)

describe('13.1 the stages of a pipeline', () => {
  test('receive only what a stage before them publishes: the five stages of the paper do', () => {
    expect(checkStages([recon, behavior, load, observer, synthesis])).toEqual([])
  })

  test('that come too early are found, with what is missing', () => {
    expect(checkStages([recon, load, behavior, observer, synthesis])).toEqual([
      { rule: 'invalid_subscription', stage: 'load', missing: ['flow_mapped'] },
    ])
  })

  test('are all reported, in their order; what a stage publishes itself does not count', () => {
    const found = checkStages([
      stage('a', ['x'], ['x']),
      stage('b', ['x', 'y', 'z'], []),
      stage('a', [], ['y']),
    ])
    expect(found).toEqual([
      { rule: 'invalid_subscription', stage: 'a', missing: ['x'] },
      { rule: 'invalid_subscription', stage: 'b', missing: ['y', 'z'] },
      { rule: 'duplicate_stage', stage: 'a' },
    ])
    expect(violationsText(found)).toBe(
      "stage 'a' subscribes to 'x', which no stage before it publishes; stage 'b' subscribes to 'y', 'z', which no stage before it publishes; stage 'a' is there twice",
    )
  })

  test('are reported with the type that was probably meant, unless a later stage publishes the missing one', () => {
    const stages = [
      stage('a', [], ['article', 'x']),
      stage('b', ['artcle'], ['later']),
      stage('c', ['latr'], []),
    ]
    expect(violationsText(checkStages(stages), stages)).toBe(
      "stage 'b' subscribes to 'artcle', which no stage before it publishes, did you mean article?; stage 'c' subscribes to 'latr', which no stage before it publishes, did you mean later?",
    )
    const early = [stage('z', [], ['artcle']), stage('b', ['article'], []), stage('a', [], ['article'])]
    expect(violationsText(checkStages(early), early)).toBe(
      "stage 'b' subscribes to 'article', which no stage before it publishes",
    )
  })
})

describe('13.2 the tasks of a pipeline', () => {
  const worker = (capacity: number, types = ['*'], state: 'idle' | 'draining' | 'silent' = 'idle') => ({
    capacity,
    types,
    state,
  })

  test('share slots where the workers that run them have fewer than there are tasks', () => {
    const types = ['recon', 'load', 'load']
    expect(slotShortage(types, [worker(2)])).toEqual({ tasks: 3, slots: 2 })
    expect(slotShortage(types, [worker(2, ['load']), worker(1)])).toBeUndefined()
    expect(
      slotShortage(types, [worker(2, ['load']), worker(9, ['other']), worker(9, ['*'], 'draining')]),
    ).toEqual({ tasks: 3, slots: 2 })
    expect(slotShortage(types, [worker(2), worker(9, ['*'], 'silent')])).toEqual({ tasks: 3, slots: 2 })
    expect(slotShortage(types, [worker(3)])).toBeUndefined()
    // That nobody runs them is said elsewhere.
    expect(slotShortage(types, [worker(9, ['other'])])).toBeUndefined()
    expect(slotShortage([], [worker(1)])).toBeUndefined()
  })
})

const two: PipelineCase = (() => {
  const terms = {
    stages: [stage('from', [], ['x', 'y']), stage('to', ['x', 'y'], []), stage('also', ['x'], [])],
    maxUnread: 3,
  }
  return { terms, log: emptyLog(terms) }
})()

/** A stage of one task and one of three partitions, which receive the same events. */
const parted: PipelineCase = (() => {
  const to = { ...stage('to', ['x', 'y'], ['z']), partitions: 3 }
  const terms = {
    stages: [stage('from', [], ['x', 'y']), to, stage('end', ['x', 'z'], [])],
    maxUnread: 3,
  }
  return { terms, log: emptyLog(terms) }
})()

/** The pipeline after a publication of events whose keys have these hashes. */
function keyed({ terms, log }: PipelineCase, type: string, keyHashes: readonly (number | null)[]) {
  return { terms, log: published({ terms, log }, type, { count: keyHashes.length, keyHashes }) }
}

/** The pipeline after some publications, each of a type and a number of events. */
function after(it: PipelineCase, ...publications: readonly (readonly [type: string, count: number])[]) {
  const { terms } = it
  let { log } = it
  for (const [type, count] of publications) log = published({ terms, log }, type, { count })
  return { terms, log }
}

/** The place of a task in the log, by its words: `to`, or `to/2` for a partition. */
function placeIn({ log }: PipelineCase, name: string): number {
  return log.parts.findIndex((part) => stageKey(part).endsWith(`/${name}`))
}

/** What a stage receives, and the pipeline after it. */
function taken(it: PipelineCase, name: string, types: readonly string[], max: number) {
  const delivery = deliveryFor(it, placeIn(it, name), types, max)
  return delivery.as === 'events'
    ? { ranges: delivery.ranges, next: { ...it, log: delivery.log } }
    : { ranges: delivery.as, next: it }
}

describe('13.2 the log of a pipeline', () => {
  test('numbers events without gaps, and gives them in their order, types mixed', () => {
    const it = after(two, ['x', 2], ['y', 1], ['x', 1])
    expect(it.log.seq).toBe(4)
    const first = taken(it, 'to', ['x', 'y'], 3)
    expect(first.ranges).toEqual([[1, 3]])
    const second = taken(first.next, 'to', ['x', 'y'], 3)
    expect(second.ranges).toEqual([[4, 1]])
    expect(taken(second.next, 'to', ['x', 'y'], 3).ranges).toBe('none')
    expect(taken(second.next, 'also', ['x'], 9).ranges).toEqual([
      [1, 2],
      [4, 1],
    ])
  })

  test('types that are received apart do not disturb each other', () => {
    const it = after(two, ['x', 1], ['y', 2], ['x', 1])
    const y = taken(it, 'to', ['y'], 1)
    expect(y.ranges).toEqual([[2, 1]])
    expect(taken(y.next, 'to', ['x', 'y'], 9).ranges).toEqual([
      [1, 1],
      [3, 2],
    ])
  })

  test('gives each event once to a task that names its type twice', () => {
    const it = after(two, ['x', 3])
    expect(taken(it, 'to', ['x', 'x'], 2).ranges).toEqual([[1, 2]])
  })

  test('has room for a type until a stage has maxUnread of it to receive; a stage that has ended holds nobody back', () => {
    const it = after(two, ['x', 2])
    expect(hasRoom(it, 'x')).toBe(true)
    const full = after(it, ['x', 2])
    expect([hasRoom(full, 'x'), hasRoom(full, 'y')]).toEqual([false, true])
    const read = taken(full, 'to', ['x'], 4).next
    expect(holdersBack(read, 'x')).toEqual([{ stage: 'also', unread: 4 }])
    expect(hasRoom({ ...read, log: stageEnded(read, { stage: 'also' }) }, 'x')).toBe(true)
    expect(isWaitOver(read, 0, { for: 'room', type: 'x' })).toBe(false)
  })

  test('is at its end for a stage when every stage that publishes one of the types has completed, and nothing is left', () => {
    const it = after(two, ['x', 1])
    const ended = { ...it, log: stageEnded(it, { stage: 'from' }) }
    expect(isWaitOver(ended, 1, { for: 'events', types: ['y'] })).toBe(true)
    const last = taken(ended, 'to', ['x', 'y'], 5)
    expect(last.ranges).toEqual([[1, 1]])
    expect(taken(last.next, 'to', ['x', 'y'], 5).ranges).toBe('end')
    expect(taken(it, 'to', ['y'], 5).ranges).toBe('none')
    // A wait is over as soon as there is something to receive.
    expect(isWaitOver(it, 1, { for: 'events', types: ['x', 'y'] })).toBe(true)
    expect(isWaitOver(it, 1, { for: 'events', types: ['y'] })).toBe(false)
  })

  test('forgets what every stage that has not ended has received, so that it stays small', () => {
    let it = two
    for (let round = 0; round < 100; round += 1) {
      it = after(it, ['x', 2], ['y', 1])
      it = taken(it, 'to', ['x', 'y'], 10).next
      it = taken(it, 'also', ['x'], 10).next
      expect(it.log.unread).toEqual({})
    }
    expect(it.log).toMatchObject({ seq: 300, published: { x: 200, y: 100 } })
  })

  test('keeps nothing for stages that have ended, and counts nothing as theirs to receive', () => {
    const first = after(two, ['x', 1])
    const half = { ...first, log: stageEnded(first, { stage: 'to' }) }
    const done = { ...half, log: stageEnded(half, { stage: 'also' }) }
    expect(done.log.unread).toEqual({})
    const later = after(done, ['x', 2], ['y', 1])
    expect(later.log).toMatchObject({ seq: 4, unread: {} })
    expect(unreadCounts(later, placeIn(later, 'to'))).toEqual({})
  })

  test.each(['constructor', '__proto__'])('has a type %s like any other', (type) => {
    const terms = { stages: [stage('from', [], [type]), stage('to', [type], [])], maxUnread: 3 }
    const it = { terms, log: emptyLog(terms) }
    expect(taken(it, 'to', [type], 9).ranges).toBe('none')
    const read = taken(after(it, [type, 2]), 'to', [type], 1)
    expect(taken(read.next, 'to', [type], 9).ranges).toEqual([[2, 1]])
  })

  test('gives each stage each event of its types once, in order, whatever the turns: a model', () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const random = new SeededRandom(seed)
      const draw = (below: number) => random.bits() % below
      let it = two
      const events: string[] = []
      const got: Record<string, number[]> = { to: [], also: [] }
      for (let turn = 0; turn < 80; turn += 1) {
        const type = ['x', 'y'][draw(2)] ?? 'x'
        const reader = ['to', 'also'][draw(2)] ?? 'to'
        if (draw(2) === 0 && hasRoom(it, type)) {
          const count = 1 + draw(4)
          it = after(it, [type, count])
          for (let at = 0; at < count; at += 1) events.push(type)
        } else {
          const { ranges, next } = taken(it, reader, reader === 'to' ? ['x', 'y'] : ['x'], 1 + draw(5))
          it = next
          if (typeof ranges !== 'string') got[reader]?.push(...sequences(ranges))
        }
      }
      for (const [reader, types] of [
        ['to', ['x', 'y']],
        ['also', ['x']],
      ] as const) {
        const { ranges } = taken(it, reader, types, 1_000)
        const all = [...(got[reader] ?? []), ...(typeof ranges === 'string' ? [] : sequences(ranges))]
        expect(all, `seed ${seed}, ${reader}`).toEqual(
          events.flatMap((type, at) => ((types as readonly string[]).includes(type) ? [at + 1] : [])),
        )
      }
    }
  })
})

describe('13.2 the partitions of a stage', () => {
  test('receive the events of their own keys, and those without a key in turn', () => {
    const it = keyed(keyed(parted, 'x', [4, 5, 4, 6]), 'x', [null, 7, null])
    const got = ['to/1', 'to/2', 'to/3'].map((name) => taken(it, name, ['x', 'y'], 9).ranges)
    // 6 mod 3; 4 and 7 mod 3, and the event after four others; 5 mod 3.
    expect(got).toEqual([
      [
        [4, 1],
        [7, 1],
      ],
      [
        [1, 1],
        [3, 1],
        [5, 2],
      ],
      [[2, 1]],
    ])
    expect(taken(it, 'end', ['x'], 9).ranges).toEqual([[1, 7]])
  })

  test('are stored in a few numbers where their events come in turn, and any log comes back as it was', () => {
    const terms = {
      stages: [
        stage('a', [], ['x', 'y']),
        { ...stage('b', ['x', 'y'], []), partitions: 3 },
        stage('c', ['x'], []),
      ],
      maxUnread: 10_000,
    }
    let log = emptyLog(terms)
    const grow = (type: string, it: Parameters<typeof published>[2]) => {
      log = published({ terms, log }, type, it)
    }
    for (let call = 0; call < 9; call += 1) grow('x', { count: 300 })
    const { parts } = storedLog(log)
    expect(parts.map(({ unread }) => unread?.['x'])).toEqual([
      undefined,
      [[1, 900, 3]],
      [[2, 900, 3]],
      [[3, 900, 3]],
      undefined,
    ])
    const random = new SeededRandom('stored')
    for (let call = 0; call < 120; call += 1) {
      const count = 1 + Math.floor(random.next() * 9)
      const keyHashes = Array.from({ length: count }, () =>
        random.next() < 0.5 ? null : Math.floor(random.next() * 1_024),
      )
      grow(random.next() < 0.5 ? 'x' : 'y', { count, keyHashes })
      const delivery = deliveryFor({ terms, log }, 1 + (call % 4), ['x'], 1 + Math.floor(random.next() * 40))
      if (delivery.as === 'events') ({ log } = delivery)
      expect(logOf(JSON.parse(JSON.stringify(storedLog(log))) as StoredLog)).toEqual(log)
    }
  })

  test('know a key by the same hash for ever, on any machine', () => {
    const sha256Hex = (text: string) => createHash('sha256').update(text).digest('hex')
    expect(['', 'a.org', 'b.org', 'ü'].map((key) => keyHash({ sha256Hex }, key))).toEqual([66, 813, 926, 202])
  })

  test('are bounded each for itself: one that is full holds the type back, until it has received some or has ended', () => {
    const it = keyed(parted, 'x', [1, 1, 0, 1])
    const read = taken(it, 'end', ['x'], 9).next
    expect(holdersBack(read, 'x')).toEqual([{ stage: 'to', partition: 2, unread: 3 }])
    expect([hasRoom(read, 'x'), hasRoom(read, 'y')]).toEqual([false, true])
    expect(hasRoom(taken(read, 'to/1', ['x'], 9).next, 'x')).toBe(false)
    expect(hasRoom(taken(read, 'to/2', ['x'], 1).next, 'x')).toBe(true)
    const ended = { ...read, log: stageEnded(read, { stage: 'to', partition: 2 }) }
    expect(hasRoom(ended, 'x')).toBe(true)
    expect(unreadCounts(ended, placeIn(ended, 'to/2'))).toEqual({})
    expect(unreadCounts(ended, placeIn(ended, 'to/1'))).toEqual({ x: 1 })
    // What comes later is not kept for it.
    const later = keyed(ended, 'x', [1, 2])
    expect(later.log.parts[placeIn(later, 'to/2')]?.unread).toEqual({})
    expect(later.log.parts[placeIn(later, 'to/3')]?.unread).toEqual({ x: [[6, 1]] })
  })

  test('all get the end of a stream, and end their own when all of them have completed', () => {
    let it: PipelineCase = keyed(parted, 'x', [1])
    it = { ...it, log: stageEnded(it, { stage: 'from' }) }
    expect(['to/1', 'to/2', 'to/3'].map((name) => taken(it, name, ['x', 'y'], 9).ranges)).toEqual([
      'end',
      [[1, 1]],
      'end',
    ])
    for (const partition of [1, 3, 2]) {
      expect(taken(it, 'end', ['z'], 9).ranges).toBe('none')
      it = { ...it, log: stageEnded(it, { stage: 'to', partition }) }
    }
    expect(taken(it, 'end', ['z'], 9).ranges).toBe('end')
  })

  test('receive each event once between them, those of a key in order, whatever the turns: a model', () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const random = new SeededRandom(seed)
      const draw = (below: number) => random.bits() % below
      const to = { ...stage('to', ['x', 'y'], []), partitions: 2 + draw(4) }
      const terms = { stages: [stage('from', [], ['x', 'y']), to], maxUnread: 1 + draw(5) }
      let it: PipelineCase = { terms, log: emptyLog(terms) }
      /** By sequence: its key, if it has one. */
      const keys: (number | null)[] = []
      const got = Array.from({ length: to.partitions }, (): number[] => [])
      const receive = (partition: number, max: number) => {
        const { ranges, next } = taken(it, `to/${partition}`, ['x', 'y'], max)
        it = next
        if (typeof ranges !== 'string') got[partition - 1]?.push(...sequences(ranges))
      }
      for (let turn = 0; turn < 120; turn += 1) {
        const type = ['x', 'y'][draw(2)] ?? 'x'
        if (draw(2) === 0 && hasRoom(it, type)) {
          const hashes = Array.from({ length: 1 + draw(4) }, () => (draw(4) === 0 ? null : draw(9)))
          it = keyed(it, type, hashes)
          keys.push(...hashes)
        } else receive(1 + draw(to.partitions), 1 + draw(5))
        const unread = got.map((_, at) => Object.values(unreadCounts(it, 1 + at)))
        // One publication past the bound, of each of two types.
        expect(Math.max(0, ...unread.flat()), `seed ${seed}`).toBeLessThanOrEqual(terms.maxUnread + 3)
      }
      for (const [at] of got.entries()) receive(at + 1, 1_000)
      expect(
        got.flat().toSorted((a, b) => a - b),
        `seed ${seed}`,
      ).toEqual(keys.map((_, at) => at + 1))
      for (const own of got) expect(own, `seed ${seed}`).toEqual(own.toSorted((a, b) => a - b))
      for (const key of new Set(keys)) {
        const owners = got.filter((own) => own.some((sequence) => keys[sequence - 1] === key))
        expect(key === null ? 1 : owners.length, `seed ${seed}, key ${key}`).toBe(1)
      }
      expect(it.log.parts.every(({ unread = {} }) => Object.keys(unread).length === 0)).toBe(true)
    }
  })
})

function sequences(ranges: readonly LogRange[]): number[] {
  return ranges.flatMap(([first, count]) => Array.from({ length: count }, (_, at) => first + at))
}
