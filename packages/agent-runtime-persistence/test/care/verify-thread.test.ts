import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { StoreError } from '@ku0/agent-runtime-core'
import { expect, onTestFinished, test, vi } from 'vitest'
import { verifyStore, type VerifyProgress } from '../../src/index.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
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

test('an error that refuses it keeps its code and its class', async () => {
  const nowhere = `sqlite:${join(scratchFolder(), 'none.db')}`
  await expect(verifyStore(nowhere, { thread: true })).rejects.toMatchObject({ code: 'not_found' })
  await expect(verifyStore(nowhere, { thread: true, maxFaults: 0 })).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('maxFaults') as string,
  })
  const { path } = new Spoiled(await lived())
  const other = { storeId: '0'.repeat(17), commit: 1, hash: 'a'.repeat(64) }
  await expect(verifyStore(`sqlite:${path}`, { thread: true, since: other })).rejects.toMatchObject({
    code: 'invalid_argument',
  })
  await expect(verifyStore(import.meta.filename, { thread: true })).rejects.toBeInstanceOf(StoreError)
})

test('it ends early with the reason of its signal', async () => {
  const url = `sqlite:${await lived()}`
  const end = new AbortController()
  const reason = new Error('enough')
  const ended = verifyStore(url, { thread: true, signal: end.signal, onProgress: () => end.abort(reason) })
  await expect(ended).rejects.toBe(reason)
  await expect(verifyStore(url, { thread: true, signal: end.signal })).rejects.toBe(reason)
})

test('one that is ended while its server says nothing leaves no thread behind, and no copy', async () => {
  const folder = scratchFolder()
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(() => void vi.unstubAllEnvs())
  const silent = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const end = new AbortController()
  const reason = new Error('enough')
  const ended = verifyStore(`postgres://somebody@127.0.0.1:${port}/none`, {
    thread: true,
    signal: end.signal,
  })
  const [socket] = (await once(silent, 'connection')) as [Socket]
  const closed = new Promise(
    (done) =>
      void socket
        .resume()
        .once('error', () => {})
        .once('close', done),
  )
  expect(readdirSync(folder)).toEqual([expect.stringMatching(/^agent-runtime-verify-/)])
  end.abort(reason)
  await expect(ended).rejects.toBe(reason)
  expect(readdirSync(folder)).toEqual([])
  await closed
})
