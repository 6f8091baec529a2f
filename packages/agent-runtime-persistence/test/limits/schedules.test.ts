import { join } from 'node:path'
import { type ScheduleRecord, type Write } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { applicationId, migrations } from '../../src/sqlite/schema.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'

const hour = 3_600_000
const { config } = parseExecutionConfig()

/** Processes of one file, one after the other or side by side, on one clock. */
function stage() {
  const path = join(scratchFolder(), 'store.db')
  const { clock } = createVirtualEnvironment('schedules')
  let processes = 0
  onTestFinished(() => assertClosedStore(path, config))
  const open = async () => {
    const drawn = createVirtualEnvironment(`process ${(processes += 1)}`, { digest: nodeDigest })
    const environment = { ...drawn, clock, timers: clock }
    const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
    const scene = new Scene(store, config, clock, { digest: nodeDigest })
    onTestFinished(() => store.close())
    return scene
  }
  return { path, open, clock }
}

function hourly(now: number): Write<'putSchedule'> {
  return {
    kind: 'putSchedule',
    name: 'hourly',
    definition: {
      timing: { everyMs: hour, anchorAt: now },
      run: { type: 'work', lane: 'batch', input: '{"$ku0":["Date",1]}', labels: { 'a "b"': 'ü' } },
      catchUp: 'one',
      graceMs: 60_000,
      overlap: 'skip',
    },
    nextAt: now + hour,
  }
}

async function scheduleOf(scene: Scene): Promise<ScheduleRecord> {
  const [schedule] = await scene.read({ kind: 'schedules', filter: { name: 'hourly' } })
  if (schedule === undefined) throw new Error('there is no schedule')
  return schedule
}

function firing({ name, timing, nextAt = 0 }: ScheduleRecord): Write<'fireSchedule'> {
  return {
    kind: 'fireSchedule',
    name,
    timing,
    dueAt: nextAt,
    runs: [nextAt],
    missed: 0,
    nextAt: nextAt + hour,
  }
}

describe('schedules of a file', () => {
  test('are there as they were when it is opened again, last run and counts included', async () => {
    const { open, clock } = stage()
    const first = await open()
    await first.write(hourly(clock.now()))
    await first.write(firing(await scheduleOf(first)))
    await first.write(firing(await scheduleOf(first)))
    await first.write({ kind: 'pauseSchedule', name: 'hourly' })
    const before = await scheduleOf(first)
    expect(before).toMatchObject({ runs: 1, skipped: 1, paused: true })
    await first.store.close()
    expect(await scheduleOf(await open())).toEqual(before)
  })

  test('one that is due is said so after a restart', async () => {
    const { open, clock } = stage()
    const first = await open()
    await first.write(hourly(clock.now()))
    await first.store.close()
    clock.advanceBy(3 * hour)
    const second = await open()
    let said = 0
    second.store.listen({ schedulesDue: () => void (said += 1) })
    await second.pass(config.schedulerTickMs)
    expect(said).toBeGreaterThan(0)
  })

  test('two processes fire a time: one does, and the other says so', async () => {
    const { open, clock } = stage()
    const [one, two] = [await open(), await open()]
    await one.write(hourly(clock.now()))
    const seen = firing(await scheduleOf(two))
    const outcomes = await Promise.all([one.write(seen), two.write(seen)])
    expect(outcomes.filter(({ fired }) => fired)).toHaveLength(1)
    expect(await two.write(seen)).toEqual({ fired: false, receipts: [] })
    expect(await scheduleOf(one)).toMatchObject({ runs: 1, nextAt: seen.dueAt + hour })
  })

  test('another process learns that a schedule is due, and when it was fired elsewhere', async () => {
    const { open, clock } = stage()
    const [one, two] = [await open(), await open()]
    let said = 0
    two.store.listen({ schedulesDue: () => void (said += 1) })
    await one.write({ ...hourly(clock.now()), nextAt: clock.now() + 1_000 })
    await two.pass(1_100)
    expect(said).toBeGreaterThan(0)
    const schedule = await scheduleOf(one)
    await one.write({ ...firing(schedule), nextAt: clock.now() + hour })
    await two.pass(config.schedulerTickMs)
    const before = said
    await two.pass(5_000)
    expect(said).toBe(before)
  })

  test('a file of the version before has them from its next opening on', async () => {
    const { path, open, clock } = stage()
    const db = new Database(path)
    db.exec(migrations[0]?.sql ?? '')
    db.pragma(`application_id = ${applicationId}`)
    db.pragma('user_version = 1')
    db.close()
    const scene = await open()
    await scene.write(hourly(clock.now()))
    expect(await scheduleOf(scene)).toMatchObject({ runs: 0 })
  })
})
