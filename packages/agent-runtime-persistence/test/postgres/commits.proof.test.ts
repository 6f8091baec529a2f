import { Scene } from '@ku0/agent-runtime-conformance'
import { describe, expect, test } from 'vitest'
import { CuttingProxy, type Cut } from '../helpers/cutting-proxy.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { verifyStore } from '../../src/index.ts'

describe.each<Cut>(['before the commit', 'after the commit'])('the connection is cut %s', (cut) => {
  test('the call is answered, and has happened once', async () => {
    const server = await sharedServer()
    const proxy = await CuttingProxy.start(server.newStore())
    await Scene.play(
      ({ config, environment }) => newPostgresStore(config, environment, proxy.url),
      { digest: nodeDigest, quiet },
      async (scene) => {
        await scene.submit({ input: '"before"' })
        const claim = await scene.running({ type: 'other' })
        proxy.cutNext(cut)
        const receipts = await scene.write({
          kind: 'submit',
          tasks: [{ type: 'work', lane: 'normal', input: '"cut"', idempotencyKey: 'k' }],
        })
        expect(proxy.cuts).toBe(1)
        expect(receipts).toMatchObject([{ accepted: true, sequence: 3, deduplicated: false }])
        // What is cached is of the database as it is.
        proxy.cutNext(cut)
        expect(await scene.step(claim, 'charge', '"paid"')).toEqual({ fenced: 'ok' })
        expect(await scene.step(claim, 'charge', '"again"')).toEqual({ fenced: 'ok', memo: '"paid"' })
        proxy.cutNext(cut)
        expect(await scene.settle(claim)).toBe('ok')
        expect(await scene.eventTypes(claim.taskId)).toEqual([
          'task.queued',
          'task.started',
          'step.completed',
          'task.completed',
        ])
        expect(proxy.cuts).toBe(3)
        expect((await scene.stats()).totals.submitted).toBe(3)
        expect(scene.failures).toEqual([])
        expect(await scene.violations()).toEqual([])
      },
    )
    expect(await verifyStore(proxy.url)).toMatchObject({ ok: true, tasks: 3, faultCount: 0 })
  })
})

test('T4 D17 a commit that the server answers with ROLLBACK, and no error, is none: the call is answered once it is stored', async () => {
  const server = await sharedServer()
  const proxy = await CuttingProxy.start(`${server.newStore()}&pooler=transaction`)
  await Scene.play(
    ({ config, environment }) => newPostgresStore(config, environment, proxy.url),
    { digest: nodeDigest, quiet },
    async (scene) => {
      await scene.submit()
      proxy.rollsBack = true
      const receipts = await scene.write({
        kind: 'submit',
        tasks: [{ type: 'work', lane: 'normal', input: '"again"', idempotencyKey: 'k' }],
      })
      expect(proxy.rollsBack).toBe(false)
      expect(receipts).toMatchObject([{ accepted: true, sequence: 2, deduplicated: false }])
      expect((await scene.stats()).totals.submitted).toBe(2)
      expect(scene.failures).toEqual([])
    },
  )
  expect(await verifyStore(proxy.url)).toMatchObject({ ok: true, tasks: 2, faultCount: 0 })
})

test('while the server is away calls wait, and are refused with store_unavailable when it stays away', async () => {
  const server = await sharedServer()
  const proxy = await CuttingProxy.start(server.newStore())
  await Scene.play(
    ({ config, environment }) => newPostgresStore(config, environment, proxy.url),
    { digest: nodeDigest, quiet },
    async (scene) => {
      await scene.submit()
      proxy.isDown = true
      proxy.cutAll()
      // The next look finds that the connection is gone.
      await scene.pass(200)
      await expect(scene.submit()).rejects.toMatchObject({ code: 'store_unavailable' })
      const waiting = scene.store.write({
        kind: 'submit',
        tasks: [{ type: 'work', lane: 'normal', input: 'null' }],
      })
      await scene.pass(2_000)
      proxy.isDown = false
      expect(await scene.settled(waiting)).toMatchObject([{ accepted: true, sequence: 2 }])
      expect(scene.failures).toEqual([])
    },
  )
})

test('a database that ends with another commit than this process has seen has lost commits: the store stops', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  await Scene.play(
    ({ config, environment }) => newPostgresStore(config, environment, url),
    { digest: nodeDigest, quiet },
    async (scene) => {
      await scene.submit()
      const client = await server.connect(url)
      const before = (await client.query('SELECT number, hash FROM head')).rows[0] as object
      await scene.submit()
      // As a standby has it that was promoted without the last commit.
      const { number, hash } = before as { number: string; hash: Buffer }
      await client.query('UPDATE head SET number = $1, hash = $2', [number, hash])
      await client.end()
      await expect(scene.submit()).rejects.toMatchObject({ code: 'store_data_loss' })
      expect(scene.failures).toMatchObject([{ code: 'store_data_loss' }])
    },
  )
})

test('a row that another program has changed ends the flush, and the store stops', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  await Scene.play(
    ({ config, environment }) => newPostgresStore(config, environment, url),
    { digest: nodeDigest, quiet },
    async (scene) => {
      const claim = await scene.running()
      const client = await server.connect(url)
      await client.query('UPDATE task SET seq = seq + 1')
      await client.end()
      await expect(scene.settle(claim)).rejects.toMatchObject({ code: 'store_corrupt' })
      expect(scene.failures).toMatchObject([{ code: 'store_corrupt' }])
    },
  )
})
