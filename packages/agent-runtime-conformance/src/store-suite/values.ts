import { decode, encode } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

/** Values that a store has got wrong somewhere before; each must come back byte for byte. */
const oddValues: readonly [string, unknown][] = [
  ['NUL and lone surrogates', { '\u0000': 'a\u0000b', '\ud800': '\udfff' }],
  ['keys that look like numbers', { 10: 'ten', 9: 'nine', 1: 'one', a: 'a', '01': 'z' }],
  ['keys such as __proto__', JSON.parse('{"__proto__":{"x":1},"constructor":2,"toString":3}')],
  ['numbers at the edges', [0.1, 1e21, 1e-7, 5e-324, 2 ** 53, -1, 1e308]],
  ['numbers that JSON lacks', [Number.NaN, Number.POSITIVE_INFINITY, -0]],
  ['big integers', 12345678901234567890n],
  [
    'dates, maps, sets, bytes',
    { d: new Date(0), m: new Map([[{ a: 1 }, new Set([1])]]), b: new Uint8Array([0, 255]) },
  ],
  ['undefined', { a: undefined }],
  ['text like a reference', { $blob: 'f'.repeat(64), size: 12 }],
  ['text like a pattern', "$& $1 $$ $` $' \\u0000 %s {{x}}"],
  ['line separators', '\u2028\u2029\r\n\t"\\/'],
  ['emoji and combining marks', '🦕👩‍👩‍👧‍👦e\u0301'],
  ['deep nesting', JSON.parse('['.repeat(60) + ']'.repeat(60))],
  ['nothing', null],
  ['empty text', ''],
]

export function values({ rule, expect }: Suite): void {
  for (const [what, value] of oddValues)
    rule(`T19 ${what} come back byte for byte, everywhere`, async (scene) => {
      await roundTrip(scene, encode(value, { what: 'value' }), encode(value, { what: 'value' }))
    })

  const inline = { config: { maxInlineBytes: 1_000 } }
  rule(
    '7.5 a value above maxInlineBytes comes back byte for byte, everywhere',
    async (scene) => {
      const large = {
        text: 'x'.repeat(2_000),
        10: '🦕'.repeat(300),
        9: ['\u0000', '$&', '{"$blob":"a","size":1}'],
      }
      const text = encode(large, { what: 'value' })
      await roundTrip(scene, text, encode({ other: large }, { what: 'value' }))
      expect(decode(text)).toEqual(large)
    },
    inline,
  )

  rule('G01 7.5 one of a mebibyte too', async (scene) => {
    await roundTrip(scene, JSON.stringify('é'.repeat(524_000)), JSON.stringify('x'.repeat(1_048_000)))
  })

  for (const [what, make] of [
    ['bytes', (n: number) => JSON.stringify('x'.repeat(n - 2))],
    ['bytes of UTF-8', (n: number) => JSON.stringify('é'.repeat((n - 2) / 2))],
  ] as const)
    rule(
      `7.5 the limit is on ${what}: one more moves the value out of the event, both come back`,
      async (scene) => {
        for (const size of [998, 1_000, 1_002]) {
          const input = make(size)
          expect(new TextEncoder().encode(input)).toHaveLength(size)
          const taskId = await scene.accepted({ input })
          expect((await scene.task(taskId)).input).toBe(input)
        }
      },
      inline,
    )

  rule(
    '7.5 one large value in many places is each place’s own',
    async (scene) => {
      const text = JSON.stringify('x'.repeat(2_000))
      const claim = await scene.running({ input: text })
      await scene.step(claim, 'a', text, 0)
      await scene.step(claim, 'b', text, 1)
      await scene.settle(claim, { as: 'completed', output: text })
      const task = await scene.task(claim.taskId)
      expect([task.input === text, task.state === 'completed' && task.output === text]).toEqual([true, true])
      const steps = await scene.steps(claim.taskId)
      expect(steps.map(({ result }) => result === text)).toEqual([true, true])
    },
    inline,
  )

  rule(
    '7.5 an oversize step is answered with its memo the second time, in the same turn and later',
    async (scene) => {
      const text = JSON.stringify('x'.repeat(2_000))
      const claim = await scene.running()
      const both = await Promise.all([scene.step(claim, 'a', text), scene.step(claim, 'a', '1')])
      expect(both[1]).toEqual({ fenced: 'ok', memo: text })
      expect(await scene.step(claim, 'a', '1')).toEqual({ fenced: 'ok', memo: text })
    },
    inline,
  )

  rule(
    '7.5 the input is part of the payload of a key when it is large, too',
    async (scene) => {
      const input = JSON.stringify('x'.repeat(2_000))
      const first = await scene.submit({ idempotencyKey: 'k', input })
      expect(await scene.submit({ idempotencyKey: 'k', input })).toEqual({ ...first, deduplicated: true })
      expect(await scene.submit({ idempotencyKey: 'k', input: input.replace('x', 'y') })).toMatchObject({
        reason: 'idempotency_conflict',
      })
    },
    inline,
  )

  /** Sends a value through every door there is, and takes it out of every other. */
  async function roundTrip(scene: Scene, text: string, other: string): Promise<void> {
    scene.store.interest({ types: 'all', tasks: [] })
    const waiting = await scene.accepted({ input: text })
    expect((await scene.task(waiting)).input).toBe(text)
    await scene.worker('w', 1)
    const claim = await scene.claim()
    expect(claim.submission).toBe(`{"input":${text},"lane":"normal","type":"work"}`)

    await scene.step(claim, 'small', 'null', 0)
    expect(await scene.step(claim, 'a', text, 1)).toEqual({ fenced: 'ok' })
    expect(await scene.step(claim, 'a', other, 1)).toEqual({ fenced: 'ok', memo: text })
    expect((await scene.steps(waiting))[1]?.result).toBe(text)
    await scene.write({
      kind: 'failStep',
      leaseId: claim.leaseId,
      key: 'b',
      position: 2,
      durationMs: 1,
      error: text,
    })
    await scene.write({ kind: 'checkpoint', leaseId: claim.leaseId, data: text })
    await scene.write({ kind: 'appendOutput', leaseId: claim.leaseId, chunks: [text] })
    const chunks = await scene.read({ kind: 'output', taskId: waiting, after: 0, limit: 10 })
    expect(chunks?.[0]?.data).toBe(text)

    await scene.settle(claim, { as: 'retry', error: text, delayMs: 0 })
    expect(await scene.settle(claim, { as: 'retry', error: text, delayMs: 0 })).toBe('ok')
    scene.free('w')
    const second = await scene.claim()
    expect(second.checkpoint).toBe(text)
    expect(second.submission).toBe(claim.submission)
    expect(await scene.step(second, 'a', other, 1)).toEqual({ fenced: 'ok', memo: text })
    await scene.settle(second, { as: 'completed', output: text })
    const done = await scene.task(waiting)
    expect(done.state === 'completed' && done.output).toBe(text)

    scene.free('w')
    await scene.accepted({ input: text })
    const third = await scene.claim()
    expect(third.submission).toBe(claim.submission)
    await scene.settle(third, { as: 'failed', kind: 'error', error: text })
    const failed = await scene.task(third.taskId)
    expect(failed.state === 'failed' && failed.error).toBe(text)

    const stored = [...(await scene.history(waiting)), ...(await scene.history(third.taskId))]
    for (const part of [`"input":${text},`, `"result":${text}}`, `"error":${text},`, `"output":${text}}`])
      expect(stored.some(({ data }) => data.includes(part))).toBe(true)
    expect(scene.events.map(({ data }) => data).toSorted()).toEqual(stored.map(({ data }) => data).toSorted())
  }
}
