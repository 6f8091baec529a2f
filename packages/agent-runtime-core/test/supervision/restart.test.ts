import { describe, expect, test } from 'vitest'
import { superviseEnd } from '../../src/supervision/restart.ts'
import {
  RESTART_NAME,
  SUPERVISOR_NAME,
  type SupervisedChild,
  supervisedKey,
  type SupervisorTerms,
  supervisorKey,
} from '../../src/supervision/supervision.ts'
import type { ChildRow, LeaseRow, TaskRow } from '../../src/transition.ts'
import type { WaitRow } from '../../src/wait/row.ts'
import { childRow, family, ids, lease, now, task, workingSet } from '../transition/rows.ts'

const top: SupervisorTerms = {
  strategy: 'one_for_all',
  maxRestarts: 2,
  periodMs: 5_000,
  endsWith: 'children',
}
const waitOf = (of: number, terms: SupervisorTerms): WaitRow => ({
  task: of,
  key: supervisorKey(terms),
  position: 0,
  kind: 'signal',
  name: SUPERVISOR_NAME,
  dueAt: null,
  terms: null,
})
const waiting = (id: number, rest: Partial<TaskRow> = {}): TaskRow => ({
  ...task,
  id,
  state: 'waiting',
  lease: null,
  waitReason: 'signal',
  waits: 1,
  ...rest,
})
const running = (id: number, parent: number): TaskRow => ({ ...task, id, lease: id, parent })
const held = (id: number): LeaseRow => ({ ...lease, id, task: id })
const child = (parent: number, id: number, seat: SupervisedChild): ChildRow =>
  childRow(parent, id, { key: supervisedKey(seat), position: id })
const restarted = (of: number, seq: number, at: number) => ({
  task: of,
  seq,
  name: RESTART_NAME,
  at,
  value: null,
  blob: null,
  outcome: 'received' as const,
})

/**
 * Supervisor 7 has the children 8, 9 and 10; 10 supervises 11. 8 and 11 run.
 */
const house = (
  terms: Partial<SupervisorTerms> = {},
  restarts: readonly ReturnType<typeof restarted>[] = [],
) =>
  workingSet({
    tasks: [waiting(7), running(8, 7), running(9, 7), waiting(10, { parent: 7 }), running(11, 10)],
    leases: [held(8), held(9), held(11)],
    waits: new Map([
      [7, [waitOf(7, { ...top, ...terms })]],
      [10, [waitOf(10, { ...top, strategy: 'one_for_one' })]],
    ]),
    signals: new Map([7, 10].map((of) => [of, restarts.filter((it) => it.task === of)])),
    ...family(
      child(7, 8, { id: 'a', restart: 'permanent' }),
      child(7, 9, { id: 'b', restart: 'temporary' }),
      child(7, 10, { id: 'c', restart: 'permanent' }),
      child(10, 11, { id: 'd', restart: 'transient' }),
    ),
  })
const endOf = (ws: ReturnType<typeof house>, id: number, how: 'completed' | 'failed' = 'failed') =>
  superviseEnd(ws, ws.taskNow({ id }), how)
const told = (ws: ReturnType<typeof house>) => ws.events.map(({ task: of, type }) => `${of} ${type}`)

describe('a supervisor acts on the end of a child (docs/semantics.md 14.1, 14.2)', () => {
  test('14.1 all start again: a temporary one is gone, and what a child supervises starts again with it', () => {
    const ws = house()
    expect(endOf(ws, 8)).toEqual({ as: 'again', by: ids.task(7) })
    expect(JSON.parse(ws.events[0]?.data ?? '')).toEqual({
      child: 'a',
      count: 1,
      stopped: expect.arrayContaining(['b', 'c']),
      strategy: 'one_for_all',
    })
    expect(ws.task(11)).toMatchObject({ state: 'queued', attempt: 1, crashes: 0, lease: null })
    expect(ws.lease(11)).toMatchObject({ endReason: 'restarted' })
    expect(told(ws)).toEqual([
      '7 supervisor.restarted',
      '11 task.requeued',
      '9 task.canceled',
      '7 child.ended',
    ])
    expect(ws.signalsOf({ id: 7 }).map(({ name, at }) => [name, at])).toEqual([[RESTART_NAME, now.at]])
  })

  test('14.2 restarts that a child counted as a supervisor are forgotten when it starts again', () => {
    const ws = house({}, [restarted(10, 1, now.at - 1)])
    endOf(ws, 8)
    expect(told(ws)).toContain('10 supervisor.renewed')
    const renewed = ws.events.find(({ type }) => type === 'supervisor.renewed')
    expect(JSON.parse(renewed?.data ?? '')).toEqual({ by: ids.task(7) })
    expect(ws.signalsOf({ id: 10 })).toEqual([])
  })

  test('14.1 a supervisor that starts one alone leaves the others', () => {
    const ws = house({ strategy: 'one_for_one' })
    expect(endOf(ws, 8)).toEqual({ as: 'again', by: ids.task(7) })
    expect(told(ws)).toEqual(['7 supervisor.restarted'])
  })

  test('14.2 only restarts within the period count, and one too many ends a supervisor that nobody supervises', () => {
    const late = [restarted(7, 1, now.at - 2), restarted(7, 2, now.at - 1)]
    expect(endOf(house({}, late), 8)).toEqual({ as: 'escalate' })
    const early = late.map((it) => ({ ...it, at: now.at - 5_001 }))
    const ws = house({}, early)
    expect(endOf(ws, 8)).toMatchObject({ as: 'again' })
    expect(ws.signalsOf({ id: 7 }).map(({ at }) => at)).toEqual([now.at])
  })

  test('14.2 one too many below another supervisor: that one decides about the whole of it', () => {
    const ws = house({ strategy: 'one_for_one' }, [restarted(10, 1, now.at), restarted(10, 2, now.at)])
    expect(endOf(ws, 11)).toEqual({ as: 'again', by: ids.task(7) })
    expect(told(ws)).toEqual(['7 supervisor.restarted', '10 supervisor.escalated'])
    expect(JSON.parse(ws.events[1]?.data ?? '')).toEqual({ child: 'd', count: 3, to: ids.task(7) })
    expect(ws.signalsOf({ id: 10 })).toEqual([])
  })

  test('14.1 a transient child that completed is left, and so is a task that nobody supervises', () => {
    expect(endOf(house(), 11, 'completed')).toEqual({ as: 'leave' })
    expect(endOf(house(), 7)).toEqual({ as: 'leave' })
    const ws = house()
    expect(superviseEnd(ws, { ...ws.taskNow({ id: 8 }), id: 99 }, 'failed')).toEqual({ as: 'leave' })
  })
})
