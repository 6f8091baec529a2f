import { expect, test } from 'vitest'
import type { Message } from '../../src/engine/message.ts'
import { messagesIn, Outbox } from '../../src/line/outbox.ts'

const demand = (workerId: string, credit: number): Message => ({ to: 'demand', workerId, credit })
const removal = (call: number, ...workerIds: readonly string[]): Message => ({
  to: 'write',
  call,
  operation: { kind: 'removeWorkers', workerIds },
})
const stats = (call: number): Message => ({ to: 'read', call, query: { kind: 'stats' } })

function crossed(...messages: readonly Message[]): readonly Message[] {
  const outbox = new Outbox()
  for (const message of messages) outbox.put(message)
  return messagesIn(outbox.take())
}

test('the last of several statements of demand of a worker crosses, at its place', () => {
  const [first, second] = [removal(1, 'a'), stats(2)]
  expect(
    crossed(demand('a', 1), first, demand('a', 2), demand('b', 1), second, demand('b', 2), demand('b', 3)),
  ).toEqual([first, demand('a', 2), second, demand('b', 3)])
})

test('a message from before the outbox was emptied does not come again, and hides no later one', () => {
  const outbox = new Outbox()
  outbox.put(demand('a', 1))
  expect(messagesIn(outbox.take())).toEqual([demand('a', 1)])
  expect(outbox.isEmpty).toBe(true)
  outbox.put(stats(1))
  outbox.put(demand('a', 2))
  expect(messagesIn(outbox.take())).toEqual([stats(1), demand('a', 2)])
})

test('it is full of calls, not of statements of demand', () => {
  const outbox = new Outbox()
  for (let call = 1; call < 256; call++) {
    outbox.put(demand('a', call))
    outbox.put(stats(call))
    expect(outbox.isFull).toBe(false)
  }
  outbox.put(demand('a', 256))
  expect(outbox.isFull).toBe(false)
  outbox.put(stats(256))
  expect(outbox.isFull).toBe(true)
  expect(messagesIn(outbox.take())).toHaveLength(257)
  expect(outbox.isFull).toBe(false)
})

test('values that may cross arrive as they are: lists, flags, null, texts of any characters; an undefined one is absent', () => {
  const input = JSON.stringify({ text: '\ud800 \u2028 é✓😀 \0 "', list: [1.5, -1e300, null, true] })
  const task = { type: '\udfff', lane: 'batch', input, labels: JSON.parse('{"__proto__":"x"}') } as const
  const write: Message = { to: 'write', call: 1, operation: { kind: 'submit', tasks: [task] } }
  const interest: Message = { to: 'interest', interest: { types: 'all', tasks: ['\ud800'] } }
  expect(crossed(write, interest)).toEqual([write, interest])

  const open = { ...task, client: undefined }
  const [given] = crossed({ ...write, operation: { kind: 'submit', tasks: [open] } } as unknown as Message)
  expect(given).toStrictEqual(write)
})
