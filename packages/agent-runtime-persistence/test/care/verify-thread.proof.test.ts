import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { StoreError } from '@ku0/agent-runtime-core'
import { expect, onTestFinished, test, vi } from 'vitest'
import { verifyStore } from '../../src/index.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { Spoiled } from '../helpers/spoiled-store.ts'
import { lived } from '../helpers/whole-life.ts'

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
