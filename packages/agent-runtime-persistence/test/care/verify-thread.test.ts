import { expect, test } from 'vitest'
import { verifyStore, type VerifyProgress } from '../../src/index.ts'
import { Spoiled } from '../helpers/spoiled-store.ts'
import { lived } from '../helpers/whole-life.ts'

test('a verification in a thread of its own finds the same, and says how far it is', async () => {
  const it = new Spoiled(await lived())
  it.db.exec('UPDATE event SET at = at + 1 WHERE task = 3 AND seq = 1; UPDATE totals SET completed = 99')
  const url = `sqlite:${it.path}`
  const told: VerifyProgress[] = []
  const report = await verifyStore(url, { thread: true, maxFaults: 2, onProgress: (step) => told.push(step) })
  expect(report).toEqual(await verifyStore(url, { maxFaults: 2 }))
  expect(report).toMatchObject({ ok: false, tasks: 17, faultCount: expect.any(Number) as number })
  expect(report.faults).toHaveLength(2)
  expect(told.at(-1)).toEqual({ tasks: report.tasks, events: report.events })
})

test('it ends early with the reason of its signal', async () => {
  const url = `sqlite:${await lived()}`
  const end = new AbortController()
  const reason = new Error('enough')
  const ended = verifyStore(url, { thread: true, signal: end.signal, onProgress: () => end.abort(reason) })
  await expect(ended).rejects.toBe(reason)
  await expect(verifyStore(url, { thread: true, signal: end.signal })).rejects.toBe(reason)
})
