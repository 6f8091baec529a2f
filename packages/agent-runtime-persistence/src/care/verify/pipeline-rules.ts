import { canonical, partitionFor, PIPELINE_KEY, stageKey } from '@ku0/agent-runtime-core'
import type { PipelineRow } from '@ku0/agent-runtime-core/transition'
import type { Load } from '../../sqlite/load.ts'
import type { Db } from '../../sqlite/open.ts'
import type { Faults } from './faults.ts'

/**
 * How far the log of a pipeline was written and received is what its events and the memos of its stages say. A pipeline at a time. Source:
 * `docs/semantics.md 13.2`.
 */
export function* checkPipelines(
  db: Db,
  load: Load,
  faults: Faults,
  slice: <T>(run: () => T) => T,
): Generator<void, void> {
  const next = db
    .prepare<[number], number>('SELECT task FROM pipeline WHERE task > ? ORDER BY task LIMIT 1')
    .pluck()
  const lines = db.prepare<[number], { seq: number; data: string }>(
    'SELECT seq, data FROM output WHERE task = ? ORDER BY seq',
  )
  const memos = db.prepare<[number], { data: string; blob: string | null }>(
    `SELECT data, blob FROM event WHERE task = ? AND type = 'step.completed' AND data LIKE '%"key":"$ku0/%' ORDER BY seq`,
  )

  const check = (row: PipelineRow) => {
    const where = `pipeline ${row.task}`
    const begun = memosOf(row.task).find(({ key }) => key === PIPELINE_KEY)
    faults.same(`${where}, terms`, canonical(begun?.result ?? null), canonical(row.terms))
    const events = lines.all(row.task).map(({ data }) => JSON.parse(data) as LoggedEvent)
    faults.same(`${where}, events`, events.length, row.log.seq)
    const published = counted(events.map(({ type }) => type))
    faults.same(`${where}, published`, textOf(published), textOf(row.log.published))
    for (const part of row.log.parts) {
      const { stage, partition, task, ended, taken, unread = {} } = part
      const terms = row.terms.stages.find((it) => it.stage === stage)
      const own = partition === undefined ? `stage ${stage}` : `stage ${stage}/${partition}`
      faults.same(`${where}, ${own} task`, load.child(row.task, stageKey(part))?.task, task)
      const state = task === undefined ? undefined : load.task(task)?.state
      // Retention may have deleted it.
      if (task === undefined || state === undefined) continue
      faults.same(`${where}, ${own} ended`, state === 'completed', ended)
      const memosOfTask = memosOf(task)
      const received = memosOfTask.flatMap(({ key, result }) =>
        key.startsWith('$ku0/receive/') ? sequences((result as { ranges: Ranges }).ranges) : [],
      )
      const types = received.map((seq) => events[seq - 1]?.type ?? 'nothing')
      faults.same(`${where}, ${own} received`, textOf(counted(types)), textOf(taken))
      for (const type of terms?.subscribes ?? []) {
        const meant = sequencesFor(events, type, partition, terms?.partitions ?? 1)
        const got = received.filter((_, at) => types[at] === type)
        faults.same(`${where}, ${own} received in order`, meant.slice(0, got.length).join(' '), got.join(' '))
        if (partition !== undefined) {
          const left = ended ? [] : meant.slice(got.length)
          faults.same(
            `${where}, ${own} unread ${type}`,
            left.join(' '),
            sequences(new Map(Object.entries(unread)).get(type) ?? []).join(' '),
          )
        }
      }
      const said = memosOfTask.flatMap(({ key, result }) => {
        const { first, count } = result as { readonly first: number; readonly count: number }
        return key.startsWith('$ku0/publish/') ? sequences([[first, count]]) : []
      })
      const written = events.flatMap((event, at) =>
        event.stage === stage && event.partition === partition ? [at + 1] : [],
      )
      faults.same(`${where}, ${own} published`, said.join(' '), written.join(' '))
    }
    for (const [type, { before, ranges }] of Object.entries(row.log.unread)) {
      const all = events.flatMap((event, at) => (event.type === type ? [at + 1] : []))
      faults.same(`${where}, unread ${type}`, all.slice(before).join(' '), sequences(ranges).join(' '))
    }
  }

  const memosOf = (task: number) =>
    memos.all(task).map(({ data, blob }) => {
      const { key, result } = JSON.parse(data) as { readonly key: string; readonly result: unknown }
      return { key, result: blob === null ? result : (JSON.parse(load.blob(blob) ?? 'null') as unknown) }
    })

  for (let task = next.get(0); task !== undefined; task = next.get(task)) {
    const id = task
    slice(() =>
      faults.reading(`pipeline ${id}`, () => {
        const row = load.pipeline(id)
        if (row !== undefined) check(row)
      }),
    )
    yield
  }
}

interface LoggedEvent {
  readonly type: string
  readonly stage: string
  readonly partition?: number
  readonly keyHash?: number
}

/** The events of a type that a task of a stage is to receive. */
function sequencesFor(
  events: readonly LoggedEvent[],
  type: string,
  partition: number | undefined,
  partitions: number,
): readonly number[] {
  const all = events.flatMap((event, at) => (event.type === type ? [{ event, sequence: at + 1 }] : []))
  return all.flatMap(({ event: { keyHash = null }, sequence }, nth) =>
    partition === undefined || partitionFor(keyHash, nth, partitions) === partition ? [sequence] : [],
  )
}

type Ranges = PipelineRow['log']['unread'][string]['ranges']

function counted(types: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1)
  return Object.fromEntries(counts)
}

function textOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([type, count]) => `${count} ${type}`)
    .join(', ')
}

function sequences(ranges: Ranges): readonly number[] {
  return ranges.flatMap(([first, count]) => Array.from({ length: count }, (_, at) => first + at))
}
