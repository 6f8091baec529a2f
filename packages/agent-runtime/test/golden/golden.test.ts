import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { replayHistory, type RecordedHistory } from '../../src/testing/index.ts'
import { historyOf, type Program, programs } from './programs.ts'

const files = globSync('v*/*.json', { cwd: import.meta.dirname }).toSorted()
const read = (file: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8')) as RecordedHistory
const nameOf = (file: string) => basename(file, '.json')
const programOf = (file: string) => programs[nameOf(file)] as Program

/** Where a replay ends, when not at the handler's return. */
const ends: Readonly<Record<string, object>> = {
  failed: { call: 'throw' },
  waiting: { call: 'signal', key: 'reply' },
}
/** Their next steps come in the order in which the ones before ended. */
const unordered = new Set(['chains'])

describe('H07 the histories of every version agree with the programs that made them, for ever', () => {
  test('H07 every program has one in every version that knew it', () => {
    const first = files.filter((file) => file.startsWith('v1')).map(nameOf)
    expect(first.length).toBeGreaterThanOrEqual(15)
    expect(Object.keys(programs).toSorted()).toEqual([...new Set(files.map(nameOf))].toSorted())
  })

  test.each(files)('%s', async (file) => {
    const { task } = programOf(file)
    const report = await replayHistory(task, read(file))
    expect(report).toMatchObject({
      verdict: 'agreed',
      diverged: undefined,
      end: ends[nameOf(file)] ?? { call: 'return' },
    })
    expect(report.unused).toBe(0)
  })

  test.each(files.filter((file) => !unordered.has(nameOf(file))))('%s, call by call', async (file) => {
    const { task } = programOf(file)
    expect(await replayHistory({ ...task, replay: 'strict' }, read(file))).toMatchObject({
      verdict: 'agreed',
    })
  })

  /** With its last step changed: its key, its place. */
  const edited = (history: RecordedHistory, change: object): RecordedHistory => {
    const last = history.events.findLast(isStep)
    const events = history.events.map((event) =>
      event === last ? { ...event, data: { ...event.data, ...change } } : event,
    )
    const { hash: _, ...rest } = history
    return { ...rest, events }
  }
  const isStep = ({ type }: RecordedHistory['events'][number]) =>
    type === 'step.completed' || type === 'step.inherited'
  const withSteps = files.filter((file) => nameOf(file) !== 'failed' && read(file).events.some(isStep))

  test.each(withSteps)('%s with another key is found', async (file) => {
    const { task } = programOf(file)
    const report = await replayHistory(task, edited(read(file), { key: 'another key' }), { timeoutMs: 100 })
    expect(report).toMatchObject({ verdict: 'diverged' })
  })

  test.each(withSteps.filter((file) => !unordered.has(nameOf(file))))(
    '%s with a call at another place is found',
    async (file) => {
      const { task } = programOf(file)
      expect(
        await replayHistory({ ...task, replay: 'strict' }, edited(read(file), { position: 99 })),
      ).toMatchObject({
        verdict: 'diverged',
        diverged: { kind: 'order_changed', expected: '99' },
      })
    },
  )

  test('H08 an event that was taken out, added or moved is named', async () => {
    const history = read('v1/steps.json')
    const { task } = programOf('v1/steps.json')
    const [first, second, third, ...rest] = history.events
    const refused = async (events: readonly unknown[]) => {
      try {
        await replayHistory(task, { ...history, events } as RecordedHistory)
        return 'taken'
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(await refused([first, third, ...rest])).toContain('event 2 has seq 3')
    expect(await refused([first, second, second, third])).toContain('event 3 has seq 2')
    expect(await refused([second, first])).toContain('event 1 has seq 2')
    expect(await refused([{ ...second, seq: 1 }])).toContain('begins with task.queued, not task.started')
    expect(await refused([])).toContain('not nothing')
    expect(await refused(['x'])).toContain('event 1 is "x"')
    expect(await refused(null as never)).toContain('of format 1')
  })

  test('a history of another type is none of this program', async () => {
    const { task } = programOf('v1/patched.json')
    expect(await replayHistory(task, read('v1/steps.json'))).toMatchObject({
      verdict: 'unknown_type',
      type: 'steps',
    })
  })

  test('the records of this version are those that are kept of the newest version', async () => {
    const newest = files.map((file) => Number(/^v(\d+)/.exec(file)?.[1])).reduce((a, b) => Math.max(a, b))
    for (const [name, program] of Object.entries(programs)) {
      const kept = read(`v${newest}/${name}.json`).events
      const now = (await historyOf(program)).events
      const shape = (events: RecordedHistory['events']) =>
        events.map(({ type, data }) => [type, data['key'], data['position'], data['retry'], data['kind']])
      expect([name, shape(now)]).toEqual([name, shape(kept)])
    }
  })
})
