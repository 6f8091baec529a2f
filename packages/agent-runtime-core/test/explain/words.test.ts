import { describe, expect, test } from 'vitest'
import { childName, patienceKey } from '../../src/child/child.ts'
import { childWaitText, retriedIn, sinceText, waitingText } from '../../src/explain/words.ts'
import { RETRY_KEY } from '../../src/history/replay.ts'
import { marketTaskKey } from '../../src/market/market.ts'
import { stageKey, stageWaitKey } from '../../src/pipeline/pipeline.ts'
import type { Recovered } from '../../src/recovery/decide.ts'
import { handOverKey } from '../../src/recovery/hand-over.ts'
import { escalationKey } from '../../src/recovery/escalation.ts'
import { doubtKey } from '../../src/step/doubt.ts'
import { keyText } from '../../src/step/key-text.ts'
import type { OpenChildren, Requeues } from '../../src/store/explanation.ts'
import { afterKey, supervisorKey } from '../../src/supervision/supervision.ts'
import type { OpenWait } from '../../src/wait/schema.ts'

type Waiting = Parameters<typeof waitingText>[0]
type Budget = NonNullable<Parameters<typeof waitingText>[1]>

const dueAt = Date.parse('2026-01-02T03:04:05.006Z')
const until = ' until 2026-01-02T03:04:05.006Z'
const wait = (key: string, rest: Partial<OpenWait> = {}): OpenWait => ({
  key,
  position: 0,
  kind: 'signal',
  ...rest,
})
const childWait = (key: string) => wait(key, { kind: 'child', name: childName(key) })
const waiting = (rest: Partial<Waiting>): Waiting =>
  ({ taskId: 'the task', state: 'waiting', waitingFor: 'signal', waits: [], ...rest }) as Waiting
const childrenOf = (...first: readonly Partial<OpenChildren['first'][number]>[]): OpenChildren => ({
  open: first.length,
  first: first.map((it) => ({ key: 'a', taskId: 'a1', type: 'pay', state: 'running', ...it })),
})
const textOf = (
  waits: readonly OpenWait[],
  children?: OpenChildren,
  failures: Readonly<Record<string, string>> = {},
) =>
  waitingText(waiting({ waits: [...waits] }), undefined, children, (step) => {
    const message = failures[step]
    return message === undefined ? undefined : { message }
  })

describe('why a task that was started before is due at a time', () => {
  const last = (rest: Partial<Requeues['last']>): Requeues['last'] => ({ reason: 'retry', at: 1, ...rest })
  const failure = { message: 'it broke' }

  test('a provider refused it, or it is tried again after a failure', () => {
    expect(sinceText(last({ backOff: { keys: ['model:a', 'tool:b'], until: 5 } }))).toBe(
      ': the provider of model:a, tool:b refused it until then',
    )
    expect(sinceText(last({ failure }))).toBe(', to be tried again: it broke')
    expect(sinceText(last({}))).toBe(', to be tried again')
    expect(sinceText(last({ reason: 'restarted', failure }))).toBe('')
    expect(sinceText(undefined)).toBe('')
  })

  test.each<[Recovered['strategy'], string]>([
    ['human_escalation', 'to ask a person whether it goes on'],
    ['fallback_agent', 'to be tried with model small'],
    ['restart', 'to be started anew'],
    ['retry_with_feedback', 'to be tried again'],
    ['retry_with_backoff', 'to be tried again'],
  ])('14.3 a table of recovery says %s', (strategy, words) => {
    const recovery: Recovered = { category: 'timeout', kind: 'timeout', strategy, model: 'small' }
    const text = `, ${words} after a failure of category timeout`
    expect(sinceText(last({ recovery }))).toBe(text)
    expect(sinceText(last({ recovery, failure }))).toBe(`${text}: it broke`)
  })

  test('14.3 another agent is a task that it is handed over to', () => {
    const recovery = { category: 'crash', kind: 'error', strategy: 'fallback_agent', task: 'ask' } as const
    expect(sinceText(last({ recovery }))).toBe(
      ", to be handed over to 'ask' after a failure of category crash",
    )
  })
})

describe('a waiting task names the things that it waits for', () => {
  test.each<[string, OpenWait, string]>([
    ['a signal', wait('go'), "the signal 'go'"],
    ['a signal of another name', wait('go', { name: 'went', dueAt }), `the signal 'went'${until}`],
    ['an approval', wait('ok', { kind: 'approval' }), "the approval 'ok'"],
    ['an approval with a time', wait('ok', { kind: 'approval', dueAt }), `the approval 'ok'${until}`],
    ['a timer', wait('nap', { kind: 'timer', dueAt }), `'nap'${until}`],
    [
      'a doubt',
      wait(doubtKey('pay', 2), { kind: 'approval', dueAt }),
      "an answer to the question whether step 'pay' took effect",
    ],
    [
      'an escalation',
      wait(escalationKey(7), { kind: 'approval' }),
      'an answer to the question whether it is to go on after its failure',
    ],
    [
      'a supervisor',
      wait(supervisorKey({ strategy: 'one_for_all', maxRestarts: 3, periodMs: 5_000, endsWith: 'children' })),
      'its supervised children (one_for_all, at most 3 restarts in 5 s)',
    ],
    [
      'a sibling',
      wait(afterKey(0, 'b', [{ id: 'a', restart: 'permanent', until: 'ready' }])),
      "the moment for child 'b' to start, once 'a' is ready",
    ],
    [
      'room in a pipeline',
      wait(stageWaitKey('n', { for: 'room', type: 'order' })),
      "room for an event of type 'order'",
    ],
    [
      'events of a pipeline',
      wait(stageWaitKey('n', { for: 'events', types: ['order', 'bill'] })),
      "events of type 'order' or 'bill'",
    ],
  ])('%s', (_, open, text) => {
    expect(textOf([open])).toBe(`waits for ${text}`)
  })

  test('a child that waits for a few things names them', () => {
    const events = wait(stageWaitKey('n', { for: 'events', types: ['order'] }))
    expect(childWaitText([wait('go'), events], undefined)).toBe(
      "waits for the signal 'go' or events of type 'order'",
    )
    expect(childWaitText([], undefined)).toBeUndefined()
    expect(
      childWaitText(
        ['a', 'b', 'c', 'd'].map((key) => wait(key)),
        undefined,
      ),
    ).toBeUndefined()
    const children = childrenOf({
      state: 'waiting',
      waitsFor: 'signal',
      summary: "waits for the signal 'go'",
    })
    expect(textOf([childWait('a')], children)).toBe(
      "waits for the child 'a' (task a1, waits for the signal 'go')",
    )
  })

  test('several waits, of which the patience for a child is none', () => {
    expect(textOf([wait('go'), wait(patienceKey('a', 1), { kind: 'timer', dueAt }), wait('stop')])).toBe(
      "waits for the signal 'go' or the signal 'stop'",
    )
  })

  test('a hundred waits, and how many there are besides', () => {
    const text = (count: number) => textOf(Array.from({ length: count }, (_, at) => wait(`go ${at}`)))
    expect(text(100)).toMatch(/ or the signal 'go 99'$/)
    expect(text(101)).toMatch(/ or the signal 'go 99' or 1 more$/)
    expect(text(103)).toMatch(/ or the signal 'go 99' or 3 more$/)
  })

  test('the next try of a step or a child, or the provider that refused it', () => {
    const retry = (key: string) => wait(`${RETRY_KEY}${key}`, { kind: 'timer', dueAt })
    expect(textOf([retry('2/a/b')], undefined, { 'a/b': 'it broke' })).toBe(
      `waits for the next try of 'a/b'${until} (the last one failed: it broke)`,
    )
    expect(textOf([retry('2/a/b')])).toBe(`waits for room for the child 'a/b'${until}`)
    expect(textOf([retry('1/$ku0/supervised/transient/b')])).toBe(
      `waits for room for supervised child 'b'${until}`,
    )
    expect(textOf([retry('limit-1/a/b')], undefined, { 'a/b': 'it broke' })).toBe(
      `waits for the provider that refused 'a/b'${until}`,
    )
    expect(retriedIn(`${RETRY_KEY}2/a/b`)).toBe('a/b')
    expect(retriedIn('2/a/b')).toBeUndefined()
  })

  test('a child, with its task and what it does', () => {
    expect(textOf([childWait('a')])).toBe("waits for the child 'a'")
    expect(textOf([childWait('a')], childrenOf({ key: 'b' }))).toBe("waits for the child 'a'")
    expect(textOf([childWait('a')], childrenOf({}))).toBe("waits for the child 'a' (task a1, running)")
    expect(textOf([wait('go'), childWait('a')])).toBe("waits for the child 'a' or the signal 'go'")
    expect(textOf([childWait(stageKey({ stage: 'pack', partition: 2 }))])).toBe(
      "waits for partition 2 of stage 'pack'",
    )
    expect(textOf([childWait(marketTaskKey('proposal'))])).toBe("waits for the task of stage 'proposal'")
  })

  test('14.3 a task that it was handed over to, by its type', () => {
    const key = handOverKey(7)
    expect(textOf([childWait(key)], childrenOf({ key, type: 'ask' }))).toBe(
      "waits for 'ask', which it was handed over to (task a1, running)",
    )
    expect(textOf([childWait(key)])).toBe(`waits for ${keyText(key)}`)
    expect(textOf([childWait('a'), childWait(key)])).toBe(`waits for 2 children: 'a', ${keyText(key)}`)
  })

  test.each<[Partial<OpenChildren['first'][number]>, string]>([
    [{ state: 'queued' }, 'queued'],
    [{ state: 'waiting', waitsFor: 'approval' }, 'waiting for approval'],
    [{ state: 'queued', waitsFor: 'slot' }, 'queued'],
    [{ state: 'queued', waitsFor: 'delay' }, 'queued'],
    [{ state: 'queued', waitsFor: 'suspect' }, 'queued'],
    [{ state: 'queued', waitsFor: 'paused' }, 'queued: paused'],
    [{ state: 'queued', waitsFor: 'credits' }, 'queued: waits for credits'],
    [{ state: 'queued', waitsFor: 'quota:model:m' }, 'queued: waits for the quota model:m'],
  ])('a child that is %j', (child, text) => {
    expect(textOf([childWait('a')], childrenOf(child))).toBe(`waits for the child 'a' (task a1, ${text})`)
  })

  test('several children are counted, and five of them named', () => {
    const keys = ['a', 'b', 'c', 'd', stageKey({ stage: 'pack' }), 'f', 'g']
    const waits = keys.map(childWait)
    const known = childrenOf({ key: 'b', state: 'queued' })
    expect(textOf(waits, known)).toBe(
      "waits for 7 children: 'a', 'b' (queued), 'c', 'd', stage 'pack' and 2 more",
    )
    expect(textOf(waits.slice(0, 5))).toBe("waits for 5 children: 'a', 'b', 'c', 'd', stage 'pack'")
  })

  test('children that no running process could start are named by their types, each once', () => {
    const idle = { state: 'queued', waitsFor: 'worker' } as const
    const known = childrenOf(
      { ...idle, key: 'a' },
      { ...idle, key: 'b' },
      { ...idle, key: 'c', type: 'ship' },
      { ...idle, key: 'd', type: 'sell' },
    )
    expect(textOf(['a', 'b', 'c'].map(childWait), known)).toBe(
      "waits for 3 children: 'a' (queued), 'b' (queued), 'c' (queued); no worker runs type pay or ship",
    )
    expect(textOf([wait('a', { name: childName('a') })], known)).not.toContain('no worker')
  })

  test('the slots that the tasks of its own stages share', () => {
    const it = waiting({ waits: [wait('go')] })
    const text = (advice?: string) =>
      waitingText(it, undefined, undefined, () => undefined, undefined, { tasks: 3, slots: 1 }, advice)
    const shared =
      "waits for the signal 'go'; its 3 tasks share 1 slot, so they take turns, which is slow; raise workers.capacity to 3 or start more workers"
    expect([text(), text('raise a quota')]).toEqual([shared, `${shared}; raise a quota`])
  })

  test('11.5 the answer of whoever gave a budget', () => {
    const answer = 'answer it with budgets.continue or budgets.stop'
    const asking = (taskId: string, by: string) =>
      ({ taskId, limits: { tokens: 9 }, used: { tokens: 8 }, asks: { field: 'tokens', at: 1, by } }) as Budget
    const text = (budget: Budget | undefined) =>
      waitingText(waiting({ waitingFor: 'budget' }), budget, undefined, () => undefined)
    const amounts = '(8 of 9 tokens used'
    expect(text(asking('the task', 'the task'))).toBe(
      `is parked: its budget has passed its soft line ${amounts}); ${answer}`,
    )
    expect(text(asking('above', 'below'))).toBe(
      `is parked: the budget of task above has passed its soft line ${amounts}, and task below crossed it); ${answer}`,
    )
    const above = `is parked: the budget of a task above it has passed a soft line; ${answer}`
    expect(text(undefined)).toBe(above)
    const { asks: _, ...silent } = asking('above', 'below')
    expect(text(silent)).toBe(above)
  })

  test.each([
    [
      'value_unreadable',
      "is parked, the stored value of 'pay' cannot be read: no key; resume it once its process has the codec or the key",
    ],
    [
      'history_edited',
      'is parked, its history in the database was changed: no key was written, undefined was found; restore its rows of the table event from a backup, then resume it',
    ],
    [
      'missing_step',
      "is parked, because its handler took a different path than its recorded history: 'pay' was recorded as call 1 and is missing: the handler returns; resume it once the code fits",
    ],
  ] as const)('a person, where its history and its code part: %s', (kind, text) => {
    const divergence = { kind, key: 'pay', position: 1, expected: 'no key' }
    expect(waitingText(waiting({ divergence }), undefined, undefined, () => undefined)).toBe(text)
  })
})
