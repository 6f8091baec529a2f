import type { Receipt } from '@ku0/agent-runtime-core'
import { submission } from './scene.ts'
import type { Suite } from './suite.ts'

export function identity({ rule, timed, expect }: Suite): void {
  rule('2.7 the same key returns the first receipt', async (scene) => {
    const first = await scene.submit({ idempotencyKey: 'k', input: '{"a":1}' })
    expect(first).toMatchObject({ accepted: true, deduplicated: false })
    const second = await scene.submit({ idempotencyKey: 'k', input: '{"a":1}' })
    expect(second).toEqual({ ...first, deduplicated: true })
    expect(await scene.depth()).toBe(1)
    expect((await scene.stats()).totals).toMatchObject({ submitted: 1, rejected: 0 })
    expect(await scene.eventTypes(first.taskId)).toEqual(['task.queued'])
  })

  rule('2.7 type and input form the payload; lane, labels and the rest do not', async (scene) => {
    const first = await scene.submit({ idempotencyKey: 'k' })
    const again = await scene.submit({
      idempotencyKey: 'k',
      lane: 'interactive',
      labels: { a: 'b' },
      delayMs: 5_000,
      client: 'c',
    })
    expect(again).toEqual({ ...first, deduplicated: true })
  })

  for (const [what, other] of [
    ['another input', { input: '1' }],
    ['another type', { type: 'mail' }],
  ] as const)
    rule(`G05 2.7 the same key with ${what} is idempotency_conflict, and leaves no record`, async (scene) => {
      const first = await scene.submit({ idempotencyKey: 'k' })
      expect(await scene.submit({ idempotencyKey: 'k', ...other })).toMatchObject({
        accepted: false,
        reason: 'idempotency_conflict',
        taskId: first.taskId,
        sequence: first.sequence,
      })
      expect((await scene.read({ kind: 'tasks', filter: {} })).tasks).toHaveLength(1)
      expect((await scene.stats()).totals).toMatchObject({ submitted: 1, rejected: 0 })
    })

  rule('2.7 a type and an input cannot pass for another pair by where they are parted', async (scene) => {
    await scene.submit({ idempotencyKey: 'k', type: 'a', input: '"b"' })
    expect(await scene.submit({ idempotencyKey: 'k', type: 'a\n"b"', input: '""' })).toMatchObject({
      reason: 'idempotency_conflict',
    })
  })

  rule(
    '2.7 a rejected submission never binds its key',
    async (scene) => {
      await scene.submitMany(1)
      const refused = await scene.submit({ idempotencyKey: 'k', input: '1' })
      expect(refused).toMatchObject({ accepted: false, reason: 'queue_full' })
      await scene.worker('w', 1)
      await scene.claim()
      expect(await scene.submit({ idempotencyKey: 'k', input: '2' })).toMatchObject({
        accepted: true,
        deduplicated: false,
      })
    },
    { config: { queueDepthLimit: 1, batchBackpressureThreshold: 1 } },
  )

  rule('2.7 a submission that the front door refused does not bind its key either', async (scene) => {
    const refused = { reason: 'invalid_payload', message: 'no' } as const
    await scene.submit({ idempotencyKey: 'k', refused })
    expect(await scene.submit({ idempotencyKey: 'k' })).toMatchObject({ accepted: true, deduplicated: false })
  })

  rule('2.7 a key stays bound when its task has ended', async (scene) => {
    await scene.worker('w', 4)
    const first = await scene.submit({ idempotencyKey: 'done' })
    await scene.settle(await scene.claim())
    const second = await scene.submit({ idempotencyKey: 'gone' })
    await scene.cancel(second.taskId)
    expect(await scene.submit({ idempotencyKey: 'done' })).toEqual({ ...first, deduplicated: true })
    expect(await scene.submit({ idempotencyKey: 'gone' })).toEqual({ ...second, deduplicated: true })
  })

  rule('G06 2.7 one key from 50 submitters at once is one task and 50 equal answers', async (scene) => {
    const operation = { kind: 'submit', tasks: [submission({ idempotencyKey: 'k' })] } as const
    const answers = (await Promise.all(Array.from({ length: 50 }, () => scene.write(operation)))).flat()
    expect(new Set(answers.map(({ taskId, sequence }) => `${taskId} ${sequence}`)).size).toBe(1)
    expect(answers.filter((it) => it.accepted && !it.deduplicated)).toHaveLength(1)
    expect(answers.every((it) => it.accepted)).toBe(true)
    expect(await scene.depth()).toBe(1)
  })

  rule('2.7 one key twice within one submission of many', async (scene) => {
    const receipts = await scene.write({
      kind: 'submit',
      tasks: [
        submission({ idempotencyKey: 'k' }),
        submission({ idempotencyKey: 'k' }),
        submission({ idempotencyKey: 'k', input: '1' }),
      ],
    })
    expect(receipts).toMatchObject([
      { accepted: true, deduplicated: false },
      { accepted: true, deduplicated: true },
      { accepted: false, reason: 'idempotency_conflict' },
    ])
  })

  const oddKeys = ['__proto__', 'constructor', ' ', 'é', 'e\u0301', '\u0000', '🦕', "'); --", 'a\nb']
  rule('G04 2.7 any text is a key of its own', async (scene) => {
    const receipts = await scene.write({
      kind: 'submit',
      tasks: oddKeys.map((idempotencyKey, n) => submission({ idempotencyKey, input: String(n) })),
    })
    expect(new Set(receipts.map(({ taskId }) => taskId)).size).toBe(oddKeys.length)
    for (const [n, idempotencyKey] of oddKeys.entries())
      expect(await scene.submit({ idempotencyKey, input: String(n) })).toEqual({
        ...(receipts[n] as Receipt),
        deduplicated: true,
      })
  })

  rule('12.0 a task may have an id of the submitter’s own', async (scene) => {
    const receipt = await scene.submit({ taskId: 'pr-17' })
    expect(receipt).toEqual({ accepted: true, taskId: 'pr-17', sequence: 1, deduplicated: false })
    expect(await scene.task('pr-17')).toMatchObject({ taskId: 'pr-17', state: 'queued' })
    expect((await scene.history('pr-17')).map(({ taskId }) => taskId)).toEqual(['pr-17'])
    await scene.worker('w', 1)
    const claim = await scene.claim()
    expect(claim).toMatchObject({ taskId: 'pr-17' })
    expect((await scene.read({ kind: 'leases', taskId: 'pr-17' })).map(({ taskId }) => taskId)).toEqual([
      'pr-17',
    ])
    expect(await scene.cancel('pr-17')).toEqual({ canceled: true, state: 'canceled' })
    expect(scene.notices).toMatchObject([{ taskId: 'pr-17', leaseId: claim.leaseId, verdict: 'canceled' }])
  })

  rule('12.0 a second task of the same id is already_exists, and leaves no record', async (scene) => {
    await scene.submit({ taskId: 'pr-17' })
    const refused = { accepted: false, reason: 'already_exists', taskId: 'pr-17', sequence: 1 }
    expect(await scene.submit({ taskId: 'pr-17', input: '1' })).toMatchObject(refused)
    await scene.cancel('pr-17')
    expect(await scene.submit({ taskId: 'pr-17' })).toMatchObject(refused)
    expect((await scene.stats()).totals).toMatchObject({ submitted: 1, rejected: 0 })
  })

  rule('12.0 one id twice in one turn: the first has it', async (scene) => {
    const answers = await Promise.all(
      ['1', '2'].map((input) =>
        scene.write({
          kind: 'submit',
          tasks: [submission({ taskId: 'x', input }), submission({ taskId: 'x', input })],
        }),
      ),
    )
    expect(answers.flat().map((it) => it.accepted)).toEqual([true, false, false, false])
    expect(await scene.task('x')).toMatchObject({ input: '1' })
  })

  rule('12.0 the same key and the same id again is the same task', async (scene) => {
    const first = await scene.submit({ taskId: 'x', idempotencyKey: 'k' })
    expect(await scene.submit({ taskId: 'x', idempotencyKey: 'k' })).toEqual({ ...first, deduplicated: true })
  })

  rule('12.0 a rejected submission does not take its id', async (scene) => {
    await scene.submit({ taskId: 'x', refused: { reason: 'invalid_payload', message: 'no' } })
    expect(await scene.read({ kind: 'task', taskId: 'x' })).toBeUndefined()
    expect(await scene.submit({ taskId: 'x' })).toMatchObject({ accepted: true, taskId: 'x' })
  })

  rule('12.0 the id of another task is taken, also one that the store gave', async (scene) => {
    const taskId = await scene.accepted({ input: '"first"' })
    expect(await scene.submit({ taskId, input: '"second"' })).toMatchObject({
      accepted: false,
      reason: 'already_exists',
    })
    expect(await scene.task(taskId)).toMatchObject({ sequence: 1, input: '"first"' })
  })

  const oddIds = ['__proto__', 'constructor', '../x', '%2e', '🦕', "'; DROP TABLE task; --", 'A', 'a']
  rule('12.0 any text is an id of its own', async (scene) => {
    for (const taskId of oddIds)
      expect(await scene.submit({ taskId })).toMatchObject({ accepted: true, taskId })
    for (const [n, taskId] of oddIds.entries())
      expect(await scene.task(taskId)).toMatchObject({ taskId, sequence: n + 1 })
  })

  timed('1.1 sequences rise by one with each submission, rejected ones included', async (scene) => {
    const refused = { reason: 'invalid_payload', message: 'no' } as const
    const receipts = [
      await scene.submit(),
      await scene.submit({ refused }),
      await scene.submit({ delayMs: 10 }),
      await scene.submit({ taskId: 'x' }),
    ]
    expect(receipts.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4])
    await scene.pass(100)
    expect((await scene.submit()).sequence).toBe(5)
  })
}
