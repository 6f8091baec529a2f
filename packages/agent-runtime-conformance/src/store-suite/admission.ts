import { type Lane, lanes, type Receipt } from '@ku0/agent-runtime-core'
import { submission } from './scene.ts'
import type { Suite } from './suite.ts'

/** Few enough to be filled at once, and apart enough to tell hard from soft. */
const small = { config: { queueDepthLimit: 4, batchBackpressureThreshold: 2 } }

export function admission({ rule, timed, expect }: Suite): void {
  const boundaries: readonly [depth: number, verdicts: Record<Lane, string>][] = [
    [499, { interactive: 'accept', normal: 'accept', batch: 'accept' }],
    [500, { interactive: 'accept', normal: 'accept', batch: 'backpressure' }],
    [999, { interactive: 'accept', normal: 'accept', batch: 'backpressure' }],
    [1_000, { interactive: 'queue_full', normal: 'queue_full', batch: 'queue_full' }],
  ]
  for (const [depth, verdicts] of boundaries)
    rule(`F01 2.2 at depth ${depth} each lane gets its verdict`, async (scene) => {
      await scene.submitMany(depth)
      for (const lane of lanes) {
        expect(await scene.depth()).toBe(depth)
        const receipt = await scene.submit({ lane })
        expect([lane, verdict(receipt)]).toEqual([lane, verdicts[lane]])
        if (!receipt.accepted) continue
        expect(await scene.depth()).toBe(depth + 1)
        await scene.cancel(receipt.taskId)
      }
    })

  rule(
    '2.2 depth counts the queued tasks of all lanes and types together',
    async (scene) => {
      await scene.submit({ lane: 'interactive', type: 'chat' })
      await scene.submit({ lane: 'normal', type: 'work' })
      expect(verdict(await scene.submit({ lane: 'batch' }))).toBe('backpressure')
      await scene.submit({ lane: 'batch', type: 'mail', idempotencyKey: 'k' })
      await scene.submitMany(2, { lane: 'normal', type: 'third' })
      expect((await scene.stats()).depth).toEqual({ interactive: 1, normal: 3, batch: 0 })
      expect(verdict(await scene.submit({ lane: 'interactive' }))).toBe('queue_full')
    },
    small,
  )

  rule(
    '2.2 the depth is read before each insert of one submission of many',
    async (scene) => {
      const receipts = await scene.submitMany(6, { lane: 'batch' })
      expect(receipts.map(verdict)).toEqual([
        'accept',
        'accept',
        'backpressure',
        'backpressure',
        'backpressure',
        'backpressure',
      ])
    },
    small,
  )

  rule(
    '2.2 running tasks do not count: a claim makes room',
    async (scene) => {
      await scene.submitMany(4)
      expect(verdict(await scene.submit())).toBe('queue_full')
      await scene.worker('w', 1)
      expect(await scene.depth()).toBe(3)
      expect(verdict(await scene.submit())).toBe('accept')
      expect(verdict(await scene.submit())).toBe('queue_full')
    },
    small,
  )

  rule('F01 2.4 600 concurrent batch submissions: exactly 500 are accepted', async (scene) => {
    const operation = { kind: 'submit', tasks: [submission({ lane: 'batch' })] } as const
    const answers = await Promise.all(Array.from({ length: 600 }, () => scene.write(operation)))
    const verdicts = answers.map(([receipt]) => verdict(receipt as Receipt))
    expect(verdicts.filter((it) => it === 'accept')).toHaveLength(500)
    expect(verdicts.filter((it) => it === 'backpressure')).toHaveLength(100)
    expect(await scene.depth()).toBe(500)
    expect((await scene.stats()).totals).toMatchObject({ submitted: 500, rejected: 100 })
  })

  rule('F02 2.3 a requeue passes at depth 1000: the depth is then 1001', async (scene) => {
    await scene.worker('w', 1)
    const first = await scene.accepted()
    const claim = await scene.claim()
    await scene.submitMany(1_000)
    expect(await scene.depth()).toBe(1_000)
    expect(await scene.release(claim)).toBe('ok')
    expect(await scene.depth()).toBe(1_001)
    expect(await scene.state(first)).toBe('queued')
    expect(verdict(await scene.submit({ lane: 'interactive' }))).toBe('queue_full')
  })

  timed('2.3 a task whose lease expires goes back at depth 1000 as well', async (scene) => {
    await scene.worker('w', 1)
    await scene.accepted()
    await scene.claim()
    await scene.submitMany(1_000)
    await scene.jump(30_000)
    expect(await scene.depth()).toBe(1_001)
  })

  timed('2.2 a delayed task is promoted at its due time, past the limits', async (scene) => {
    await scene.submit({ delayMs: 1_000 })
    await scene.submitMany(1_000)
    expect(await scene.stats()).toMatchObject({ delayed: 1 })
    await scene.pass(1_000)
    expect(await scene.depth()).toBe(1_001)
    expect(await scene.stats()).toMatchObject({ delayed: 0 })
  })

  rule(
    '2.4 delayed tasks are outside the depth',
    async (scene) => {
      const receipts = await scene.submitMany(20, { delayMs: 60_000, lane: 'batch' })
      expect(receipts.every((it) => it.accepted)).toBe(true)
      expect(await scene.depth()).toBe(0)
      expect(await scene.stats()).toMatchObject({ delayed: 20 })
      expect(verdict(await scene.submit({ lane: 'batch' }))).toBe('accept')
    },
    small,
  )

  rule(
    '2.4 delayed tasks have a limit of their own, maxDelayed',
    async (scene) => {
      await scene.submitMany(3, { delayMs: 60_000 })
      const refused = await scene.submit({ delayMs: 60_000, lane: 'interactive' })
      expect(refused).toMatchObject({ accepted: false, reason: 'queue_full' })
      expect(verdict(await scene.submit())).toBe('accept')
    },
    { config: { maxDelayed: 3 } },
  )

  timed(
    '2.4 a delayed task that was promoted or canceled makes room for another',
    async (scene) => {
      await scene.submit({ delayMs: 1_000 })
      const canceled = await scene.accepted({ delayMs: 60_000 })
      expect(verdict(await scene.submit({ delayMs: 60_000 }))).toBe('queue_full')
      await scene.cancel(canceled)
      expect(verdict(await scene.submit({ delayMs: 60_000 }))).toBe('accept')
      await scene.pass(1_000)
      expect(verdict(await scene.submit({ delayMs: 60_000 }))).toBe('accept')
      expect(await scene.stats()).toMatchObject({ delayed: 2, depth: { normal: 1 } })
    },
    { config: { maxDelayed: 2 } },
  )

  timed('2.2 a delayed task is claimed at its due time and not a millisecond before', async (scene) => {
    await scene.worker('w', 4)
    const dueAt = scene.now + 1_000
    const task = await scene.accepted({ dueAt })
    expect(await scene.task(task)).toMatchObject({ state: 'queued', dueAt })
    await scene.pass(999)
    expect(await scene.hasClaim()).toBe(false)
    await scene.pass(1)
    expect(await scene.claim()).toMatchObject({ taskId: task })
  })

  timed('2.2 a delay that no tick meets is over within one tick', async (scene) => {
    await scene.worker('w', 4)
    await scene.accepted({ delayMs: 1_050 })
    await scene.pass(1_049)
    expect(await scene.hasClaim()).toBe(false)
    await scene.pass(101)
    expect(await scene.hasClaim()).toBe(true)
  })

  timed('2.2 a due time that has come already is none', async (scene) => {
    await scene.worker('w', 4)
    const past = await scene.accepted({ dueAt: scene.now - 1 })
    const present = await scene.accepted({ dueAt: scene.now })
    const undelayed = await scene.accepted({ delayMs: 0 })
    expect(
      [await scene.claim(), await scene.claim(), await scene.claim()].map(({ taskId }) => taskId),
    ).toEqual([past, present, undelayed])
  })

  timed('2.2 a promoted task has the place of its submission', async (scene) => {
    const delayed = await scene.accepted({ delayMs: 500 })
    const later = await scene.accepted()
    await scene.pass(500)
    await scene.worker('w', 1)
    const claim = await scene.claim()
    expect(claim).toMatchObject({ taskId: delayed })
    await scene.settle(claim)
    scene.free('w')
    expect(await scene.claim()).toMatchObject({ taskId: later })
  })

  timed(
    '2.2 however many fall due at once, all are promoted, and start in order',
    async (scene) => {
      await scene.submitMany(1_300, { delayMs: 1_000 })
      await scene.pass(999)
      expect(await scene.stats()).toMatchObject({ delayed: 1_300 })
      await scene.pass(300)
      expect(await scene.stats()).toMatchObject({ delayed: 0 })
      expect(await scene.depth()).toBe(1_300)
      await scene.worker('w', 4)
      expect(scene.claims.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4])
    },
    small,
  )

  rule(
    '1.5 a rejected submission is a record that can be queried, without its payload',
    async (scene) => {
      await scene.submitMany(4)
      const receipt = await scene.submit({ lane: 'interactive', type: 'chat', input: '"secret"' })
      expect(receipt).toMatchObject({ accepted: false, reason: 'queue_full', sequence: 5 })
      const task = await scene.task(receipt.taskId)
      expect(task).toMatchObject({
        state: 'rejected',
        type: 'chat',
        lane: 'interactive',
        reason: 'queue_full',
        sequence: 5,
        submittedAt: task.submittedAt,
      })
      expect(task.input).toBeUndefined()
      expect(JSON.stringify(await scene.history(receipt.taskId))).not.toContain('secret')
      expect(await scene.eventTypes(receipt.taskId)).toEqual(['task.rejected'])
    },
    small,
  )

  rule('1.5 it never takes a slot, and nothing can be done with it', async (scene) => {
    const { taskId } = await scene.submit(refusedSubmission)
    await scene.worker('w', 4)
    expect(await scene.hasClaim()).toBe(false)
    expect(await scene.depth()).toBe(0)
    expect(await scene.cancel(taskId)).toEqual({ canceled: false, state: 'rejected' })
    expect(await scene.eventTypes(taskId)).toEqual(['task.rejected'])
  })

  rule('2.1 a refusal of the front door is recorded with its reason and message', async (scene) => {
    const receipt = await scene.submit(refusedSubmission)
    expect(receipt).toMatchObject({ accepted: false, ...refusedSubmission.refused })
    expect(await scene.task(receipt.taskId)).toMatchObject({
      state: 'rejected',
      ...refusedSubmission.refused,
    })
    expect((await scene.stats()).totals).toMatchObject({ submitted: 0, rejected: 1 })
  })

  rule(
    '2.1 the front door comes before the key, the key before the depth, hard before soft',
    async (scene) => {
      const first = await scene.accepted({ idempotencyKey: 'k', lane: 'batch' })
      expect(await scene.submit({ ...refusedSubmission, idempotencyKey: 'k' })).toMatchObject({
        reason: 'unknown_task_type',
      })
      await scene.submitMany(3)
      expect(await scene.submit({ idempotencyKey: 'k', lane: 'batch' })).toMatchObject({
        accepted: true,
        taskId: first,
        deduplicated: true,
      })
      expect(verdict(await scene.submit({ lane: 'batch' }))).toBe('queue_full')
    },
    small,
  )

  rule(
    '2.9 rejected records are bounded by maxRejectedKept: the oldest go',
    async (scene) => {
      const receipts = await scene.submitMany(8, refusedSubmission)
      const more = await scene.submitMany(2, refusedSubmission)
      const kept = await Promise.all(
        [...receipts, ...more].map(
          async ({ taskId }) => (await scene.read({ kind: 'task', taskId })) !== undefined,
        ),
      )
      expect(kept).toEqual([false, false, false, false, false, true, true, true, true, true])
      expect((await scene.stats()).totals).toMatchObject({ rejected: 10 })
      expect((await scene.accepted()).length).toBeGreaterThan(0)
    },
    { config: { maxRejectedKept: 5 } },
  )

  rule(
    'I13 a rejection was right at its instant, and so was every acceptance',
    async (scene) => {
      const plan = Array.from({ length: 12 }, (_, n) => lanes[n % 3] as Lane)
      const answers = await Promise.all(
        plan.map((lane) => scene.write({ kind: 'submit', tasks: [submission({ lane })] })),
      )
      let depth = 0
      for (const [index, lane] of plan.entries()) {
        const expected =
          depth >= 4 ? 'queue_full' : depth >= 2 && lane === 'batch' ? 'backpressure' : 'accept'
        expect(verdict(answers[index]?.[0] as Receipt)).toBe(expected)
        if (expected === 'accept') depth++
      }
      expect(await scene.depth()).toBe(depth)
    },
    small,
  )
}

const refusedSubmission = {
  type: 'nonsense',
  refused: { reason: 'unknown_task_type', message: 'no task type nonsense' },
} as const

function verdict(receipt: Receipt): string {
  return receipt.accepted ? 'accept' : receipt.reason
}
