import type { OutputItem } from '@ku0/agent-runtime'
import { expect, test } from 'vitest'
import { all } from './all.ts'
import { type LivePiece, readStream, type StreamItem } from '../src/index.ts'

type Try = readonly [pass: number, tried: number, ...pieces: readonly (string | LivePiece)[]]

/** What a task emits whose step was tried so. A text stands for a piece of text. */
function* output(...tries: readonly Try[]): Generator<OutputItem> {
  let seq = 0
  for (const [pass, tried, ...pieces] of tries)
    for (const [index, piece] of pieces.entries()) {
      const live = typeof piece === 'string' ? ({ stream: 'text', text: piece } as const) : piece
      const data = { ...live, step: 'model 1', pass, try: tried, index }
      seq += 1
      yield { type: 'chunk', seq, attempt: 1, at: seq, data }
    }
}

async function* later<T>(items: Iterable<T>): AsyncGenerator<T> {
  for (const item of items) yield item
}

const read = (...tries: readonly Try[]): Promise<StreamItem[]> => all(readStream(later(output(...tries))))

/** As a terminal shows it: a restart is a line of its own. */
const shown = async (...tries: readonly Try[]): Promise<string> => {
  const items = await read(...tries)
  return items.map((item) => (item.type === 'text' ? item.text : `<${item.type}>`)).join('')
}

const start = { stream: 'start' } as const
const end = { stream: 'end' } as const
const call = { stream: 'tool-call', toolName: 'look', input: '{}' } as const

test('one try is shown as it comes', async () => {
  expect(await read([1, 1, start, 'It ', 'rains', end])).toEqual([
    { type: 'start', step: 'model 1' },
    { type: 'text', step: 'model 1', text: 'It ' },
    { type: 'text', step: 'model 1', text: 'rains' },
    { type: 'end', step: 'model 1' },
  ])
})

test('a text that a new try repeats is not shown again, however it is cut', async () => {
  expect(await shown([1, 1, start, 'It ', 'rai'], [2, 1, start, 'It', ' ra', 'ins', '.', end])).toBe(
    '<start>It rains.<end>',
  )
  expect(await shown([1, 1, start, 'It rai'], [2, 1, start, 'It rai', 'ns', end])).toBe(
    '<start>It rains<end>',
  )
})

test('a new try that says something else takes back what was shown, in the moment in which it differs', async () => {
  expect(await shown([1, 1, start, 'It rains'], [1, 2, start, 'It ', 'snows', '.', end])).toBe(
    '<start>It rains<restart>It snows.<end>',
  )
})

test('a new try that says less takes back what was shown when it ends', async () => {
  expect(await shown([1, 1, start, 'It rains'], [2, 1, start, 'It', end])).toBe(
    '<start>It rains<restart>It<end>',
  )
  expect(await shown([1, 1, start, 'It rains'], [2, 1, start, end])).toBe('<start>It rains<restart><end>')
})

test('a step that ran again after its end ends once', async () => {
  expect(await shown([1, 1, start, 'It rains', end], [2, 1, start, 'It rains', end])).toBe(
    '<start>It rains<end>',
  )
  expect(await shown([1, 1, start, 'It rains', end], [2, 1, start, 'It snows', end])).toBe(
    '<start>It rains<end><restart>It snows<end>',
  )
})

test('a late text of an older try is dropped', async () => {
  expect(await shown([1, 2, start, 'It '], [1, 1, 'no'], [1, 2, 'rains'])).toBe('<start>It rains')
})

test('tool calls and reasoning have their places in it', async () => {
  const think = { stream: 'reasoning', text: 'hm' } as const
  expect(await shown([1, 1, start, think, 'A', call], [2, 1, start, think, 'A', call, 'B', end])).toBe(
    '<start><reasoning>A<tool-call>B<end>',
  )
  expect(await shown([1, 1, start, 'A', call], [2, 1, start, 'A', { ...call, input: '{"a":1}' }])).toBe(
    '<start>A<tool-call><restart>A<tool-call>',
  )
  expect(await shown([1, 1, start, 'A'], [2, 1, start, think])).toBe('<start>A<restart><reasoning>')
})

test('a value that the task emits itself comes along, and a value that a later attempt emits again does not', async () => {
  const chunk = (data: unknown): OutputItem => ({ type: 'chunk', seq: 1, attempt: 1, at: 1, data })
  const [searching, reading] = [{ status: 'searching' }, { status: 'reading' }]
  const own: OutputItem[] = [
    ...[searching, reading, searching].map(chunk),
    { type: 'attempt.restarted', attempt: 2, seq: 1 },
    ...[searching, reading, searching, searching, null].map(chunk),
  ]
  expect(await all(readStream(later(own)))).toEqual(
    [searching, reading, searching, searching, null].map((data) => ({ type: 'chunk', data })),
  )
})
