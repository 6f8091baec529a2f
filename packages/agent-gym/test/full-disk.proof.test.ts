import { createRuntime, defineTask, type RuntimeError } from '@ku0/agent-runtime'
import { verifyStore } from '@ku0/agent-runtime-persistence'
import { Client } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { canMount, smallDisk } from '../../agent-runtime-persistence/test/helpers/small-disk.ts'
import { startPostgres } from '../src/place/postgres-server.ts'

/** Refusals of a server that has no room, or is away since it had none: each says what to do. */
const advice: Readonly<Record<string, RegExp>> = {
  store_full: /No space left on device.*free some, then try again$/,
  store_unavailable: /could not be reached.*check the server, then try again$/,
  store_busy: /try again$/,
}

/** A server whose files are all on a small disk, and a runtime that submits to itself and drains. */
async function newStage() {
  // A new server takes 40 MiB, of which 16 are its log of writes.
  const disk = smallDisk(64)
  const server = await startPostgres({ fsync: true, within: disk.folder })
  onTestFinished(server.stop)
  const admin = new Client(server.url)
  // The server may end it.
  admin.on('error', () => undefined)
  await admin.connect()
  onTestFinished(() => admin.end().catch(() => undefined))
  const runs: string[] = []
  const [reached, door] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const task = defineTask(
    { type: 'work', input: z.object({ n: z.int(), text: z.string() }) },
    async (ctx, { n, text }) => {
      const size = await ctx.step('measure', () => {
        runs.push(`measure ${n}`)
        return text.length
      })
      if (n === 0) {
        reached.resolve()
        await door.promise
      }
      // No room is left for it, perhaps.
      return ctx.step('repeat', () => {
        runs.push(`repeat ${n}`)
        return text.slice(0, size)
      })
    },
  )
  const runtime = await createRuntime({
    store: server.url,
    tasks: [task],
    config: {
      queueDepthLimit: 10_000,
      batchBackpressureThreshold: 10_000,
      // No lease ends while the server is away, however slow the machine is, and no renewal is under way as it goes.
      leaseTtlMs: 180_000,
      heartbeatIntervalMs: 120_000,
    },
    logger: false,
  })
  onTestFinished(() => runtime.close())
  const refused: string[] = []
  let submitted = 0
  /** Asks once, and again with the same key as a caller does. Returns whether it was accepted. */
  const submit = async (n: number) => {
    try {
      await runtime.submit(task, { n, text: text(n) }, { idempotencyKey: `task ${n}`, taskId: `task-${n}` })
      return true
    } catch (error) {
      const { code, message } = error as RuntimeError
      if (advice[code]?.test(message) !== true) throw error
      refused.push(code)
      return false
    }
  }
  const text = (n: number) => Array.from({ length: 2_000 }, (_, at) => `${Math.sin(n + at)}`).join(' ')
  return {
    disk,
    server,
    admin,
    runtime,
    runs,
    refused,
    reached: reached.promise,
    openDoor: door.resolve,
    /** New tasks, until so many calls were refused. */
    async until(refusals: number) {
      while (refused.length < refusals) if (await submit(submitted)) submitted += 1
    },
    /** So many new tasks, however often each has to be asked for. */
    async more(count: number) {
      for (const end = submitted + count; submitted < end;) if (await submit(submitted)) submitted += 1
    },
    /** All have ended, each once, and did each of their steps once. */
    async expectAllDone() {
      for (let n = 0; n < submitted; n += 1) {
        expect(await runtime.result(`task-${n}`)).toBe(text(n))
        expect(await runtime.status(`task-${n}`)).toMatchObject({
          state: 'completed',
          attempt: 1,
          crashes: 0,
        })
      }
      expect((await runtime.stats()).totals).toMatchObject({ submitted, completed: submitted, failed: 0 })
      const steps = Array.from({ length: submitted }, (_, n) => [`measure ${n}`, `repeat ${n}`]).flat()
      expect(runs.toSorted()).toEqual(steps.toSorted())
      await runtime.stop()
      expect(await verifyStore(server.url)).toMatchObject({ ok: true, faultCount: 0, tasks: submitted })
    },
  }
}

describe.skipIf(!canMount)('a disk that is really full', () => {
  test(
    'D03 a PostgreSQL server whose disk is full refuses what there is no room for, and all goes on when there is room',
    { timeout: 200_000 },
    async () => {
      const stage = await newStage()
      await stage.more(5)
      await stage.reached
      stage.disk.fill()
      await stage.until(5)
      expect(new Set(stage.refused)).toEqual(new Set(['store_full']))
      // The task that ends now finds no room, and its end is not lost.
      stage.openDoor()
      await stage.until(10)
      stage.disk.makeRoom()
      await stage.more(5)
      await stage.expectAllDone()
    },
  )

  test(
    'D03 a PostgreSQL server that ends since its log finds no room is gone on with once it has room and is started again',
    { timeout: 200_000 },
    async () => {
      const stage = await newStage()
      await stage.more(5)
      await stage.reached
      // No commit is under way as the server goes.
      for (const n of [1, 2, 3, 4]) await stage.runtime.result(`task-${n}`)
      stage.disk.fill()
      // Its next commit needs a new file of the log.
      await stage.admin.query('SELECT pg_switch_wal()').catch(() => undefined)
      await stage.admin.query("SELECT pg_logical_emit_message(true, '', '')").catch(() => undefined)
      await expect.poll(stage.server.log, { timeout: 50_000 }).toMatch(/database system is shut down/)
      // The end of a task, and new ones, are asked for while it is away.
      stage.openDoor()
      const submitting = stage.more(20)
      // It is waited for below.
      submitting.catch(() => undefined)
      await expect
        .poll(() => new Set(stage.refused), { timeout: 50_000 })
        .toEqual(new Set(['store_unavailable']))
      expect(stage.server.log()).toMatch(/No space left on device/)
      stage.disk.makeRoom()
      await stage.server.restart()
      await submitting
      await stage.more(5)
      await stage.expectAllDone()
    },
  )
})
