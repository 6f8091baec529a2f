import { describe, expect, test } from 'vitest'
import { join } from 'node:path'
import { createClient } from '../../src/index.ts'
import { review } from '../processes/contracts.ts'
import { folder, run } from '../real-processes.ts'
import { all } from '../virtual-runtime.ts'

describe('a client in one process and a worker in another', () => {
  test('the client submits, follows, approves, signals and gets the result; the worker runs the handler', async () => {
    const database = join(folder(), 'store.db')
    const program = run(new URL('../processes/only-worker.ts', import.meta.url), database)
    const processId = (await program.said('ready')).replace('ready ', '')
    await using client = await createClient({ store: `sqlite:${database}`, logger: false })
    expect((await client.workers()).map((worker) => worker.processId)).toEqual([processId])

    const asked = Promise.withResolvers<void>()
    const heard = client.on('approval.requested', () => asked.resolve())
    const receipt = await client.submit(review, { repo: 'a/b' }, { labels: { team: 'x' } })
    await asked.promise
    heard[Symbol.dispose]()
    const { approvals } = await client.approvals.list()
    expect(approvals).toMatchObject([{ taskId: receipt.taskId, key: 'release', artifact: { repo: 'a/b' } }])
    await client.approvals.approve(approvals[0]?.approvalId ?? '', { by: 'Ada' })
    await client.signal(receipt, 'go')

    expect(await client.result(receipt)).toEqual({ repo: 'a/b', by: 'Ada' })
    const types = (await all(client.events(receipt))).map(({ type }) => type)
    expect(types.at(0)).toBe('task.queued')
    expect(types.at(-1)).toBe('task.completed')
    expect((await client.list({ types: ['review'] })).tasks).toMatchObject([{ state: 'completed' }])

    const other = await client.submit('review', { repo: 'c/d' })
    expect(await client.cancel(other, { reason: 'not needed' })).toBe(true)
    await expect(client.result(other)).rejects.toMatchObject({ name: 'TaskCanceled' })
    program.process.kill('SIGTERM')
    expect(await program.ended).toMatchObject({ code: 0 })
  })
})
