import { describe, expect, expectTypeOf, test } from 'vitest'
import { EventBus } from '../../src/event/event-bus.ts'

type Event =
  | { type: 'task.queued'; id: number }
  | { type: 'task.started'; id: number; worker: string }
  | { type: 'lease.lost'; id: number }

function createBus() {
  const errors: [unknown, Event][] = []
  const bus = new EventBus<Event>({ onListenerError: (error, event) => errors.push([error, event]) })
  return { bus, errors }
}
const queued = (id: number): Event => ({ type: 'task.queued', id })
const started = (id: number): Event => ({ type: 'task.started', id, worker: 'w' })
const lost = (id: number): Event => ({ type: 'lease.lost', id })

describe('EventBus', () => {
  test.each([
    ['task.queued', ['task.queued']],
    ['task.*', ['task.queued', 'task.started']],
    ['task:*', ['task.queued', 'task.started']],
    ['lease.*', ['lease.lost']],
    ['*', ['task.queued', 'task.started', 'lease.lost']],
    ['tas', []],
    ['ta.*', []],
    ['task.queued.*', []],
    ['constructor', []],
    ['agent_started', ['task.queued']],
    ['job_assigned', ['task.started']],
    ['agent_terminated', []],
    ['toString', []],
  ])('%s gets %o', (pattern, types) => {
    const { bus } = createBus()
    const heard: string[] = []
    bus.subscribe(pattern as '*', (event) => heard.push(event.type))
    for (const event of [queued(1), started(2), lost(3)]) {
      expect(bus.wants(event.type)).toBe(types.includes(event.type))
      bus.publish(event)
    }
    expect(heard).toStrictEqual(types)
  })

  test('a pattern matches names at any depth below a prefix', () => {
    const heard: string[] = []
    const bus = new EventBus<{ type: string }>({ onListenerError: () => {} })
    bus.subscribe('a.b.*', ({ type }) => heard.push(type))
    for (const type of ['a.b.c', 'a.b.c.d', 'a.b', 'a.bc.d']) bus.publish({ type })
    expect(heard).toStrictEqual(['a.b.c', 'a.b.c.d'])
  })

  test.each(['', '**', 'task.*.x', '*.queued', 'task*', '.*', 'task.**', 5, null])(
    'refuses the pattern %o',
    (pattern) => {
      const { bus } = createBus()
      expect(() => bus.subscribe(pattern as string, () => {})).toThrow(
        expect.objectContaining({
          code: 'invalid_argument',
          message: `a pattern is a name, 'prefix.*', 'prefix:*' or '*', not ${JSON.stringify(pattern)}`,
        }),
      )
      expect(bus.size).toBe(0)
    },
  )

  test('knows the type of what a pattern selects', () => {
    const { bus } = createBus()
    bus.subscribe('task.started', (event) => expectTypeOf(event.worker).toEqualTypeOf<string>())
    bus.subscribe('task.*', (event) =>
      expectTypeOf(event.type).toEqualTypeOf<'task.queued' | 'task.started'>(),
    )
    bus.subscribe('*', (event) => expectTypeOf(event).toEqualTypeOf<Event>())
    bus.subscribe('job_assigned', (event) => expectTypeOf(event.worker).toEqualTypeOf<string>())
    expect(bus.size).toBe(4)
  })

  test('calls listeners in the order of subscription, whatever their patterns', () => {
    const { bus } = createBus()
    const heard: string[] = []
    bus.subscribe('*', () => heard.push('first'))
    bus.subscribe('task.queued', () => heard.push('second'))
    bus.subscribe('task.*', () => heard.push('third'))
    bus.publish(queued(1))
    expect(heard).toStrictEqual(['first', 'second', 'third'])
  })

  test('lets no listener harm another', async () => {
    const { bus, errors } = createBus()
    const heard: number[] = []
    const thrown = new Error('thrown')
    const rejected = new Error('rejected')
    bus.subscribe('*', () => {
      throw thrown
    })
    // oxlint-disable-next-line typescript/no-misused-promises -- what users do
    bus.subscribe('*', () => Promise.reject(rejected))
    bus.subscribe('*', ({ id }) => heard.push(id))
    const event = queued(1)
    bus.publish(event)
    expect(heard).toStrictEqual([1])
    await Promise.resolve()
    expect(errors).toStrictEqual([
      [thrown, event],
      [rejected, event],
    ])
    bus.publish(queued(2))
    expect(heard).toStrictEqual([1, 2])
  })

  test('survives an error callback that throws', () => {
    const heard: number[] = []
    const bus = new EventBus<Event>({
      onListenerError: () => {
        throw new Error('again')
      },
    })
    bus.subscribe('*', () => {
      throw new Error('once')
    })
    bus.subscribe('*', ({ id }) => heard.push(id))
    bus.publish(queued(1))
    expect(heard).toStrictEqual([1])
  })

  test('survives an error callback that throws of what a promise was rejected with', async () => {
    const told: unknown[] = []
    const bus = new EventBus<Event>({
      onListenerError: (error) => {
        told.push(error)
        throw new Error('again')
      },
    })
    // oxlint-disable-next-line typescript/no-misused-promises -- what users do
    bus.subscribe('*', () => Promise.reject(new Error('late')))
    bus.publish(queued(1))
    await Promise.resolve()
    expect(told).toEqual([new Error('late')])
  })

  test('keeps nothing for who comes later', () => {
    const { bus } = createBus()
    const heard: number[] = []
    bus.publish(queued(1))
    bus.subscribe('*', ({ id }) => heard.push(id))
    bus.publish(queued(2))
    bus.subscribe('*', ({ id }) => heard.push(-id))
    bus.publish(queued(3))
    expect(heard).toStrictEqual([2, 3, -3])
  })

  test('gives all listeners one order when a listener publishes', () => {
    const { bus } = createBus()
    const first: number[] = []
    const second: number[] = []
    bus.subscribe('*', ({ id }) => {
      first.push(id)
      if (id === 1) bus.publish(lost(2))
      if (id === 2) bus.publish(queued(3))
    })
    bus.subscribe('*', ({ id }) => second.push(id))
    bus.publish(queued(1))
    expect(first).toStrictEqual([1, 2, 3])
    expect(second).toStrictEqual([1, 2, 3])
  })

  test('stops a subscription at once, also while publishing', () => {
    const { bus } = createBus()
    const heard: string[] = []
    const unsubscribe = {
      own: bus.subscribe('*', () => {
        heard.push('own')
        unsubscribe.own()
        unsubscribe.later()
      }),
      later: bus.subscribe('*', () => heard.push('later')),
    }
    bus.subscribe('*', () => heard.push('stays'))
    bus.publish(queued(1))
    bus.publish(queued(2))
    expect(heard).toStrictEqual(['own', 'stays', 'stays'])
    unsubscribe.own()
    expect(bus.size).toBe(1)
  })

  test('a subscription made while publishing gets the next event', () => {
    const { bus } = createBus()
    const heard: number[] = []
    const stop = bus.subscribe('*', () => {
      stop()
      bus.subscribe('*', ({ id }) => heard.push(id))
      bus.publish(queued(2))
    })
    bus.publish(queued(1))
    expect(heard).toStrictEqual([2])
  })

  test('one made while publishing gets what was published before it, and is still to come', () => {
    const { bus } = createBus()
    const heard: number[] = []
    bus.subscribe('task.queued', () => {
      bus.publish(lost(2))
      bus.subscribe('lease.lost', ({ id }) => heard.push(id))
    })
    bus.publish(queued(1))
    expect(heard).toStrictEqual([2])
  })

  test('ends a subscription with using', () => {
    const { bus } = createBus()
    {
      using _ = bus.subscribe('task.*', () => {})
      expect(bus.wants('task.queued')).toBe(true)
    }
    expect(bus.wants('task.queued')).toBe(false)
    expect(bus.size).toBe(0)
  })

  test('stays right when more types come by than it remembers', () => {
    const bus = new EventBus<{ type: string }>({ onListenerError: () => {} })
    const heard: string[] = []
    bus.subscribe('t.1', ({ type }) => heard.push(type))
    for (let i = 0; i < 5_000; i += 1) bus.publish({ type: `t.${i}` })
    bus.publish({ type: 't.1' })
    expect(heard).toStrictEqual(['t.1', 't.1'])
  })
})
