import { describe, expect, test } from 'vitest'
import { join } from 'node:path'
import { folder, run } from '../real-processes.ts'
import { virtualRuntime } from '../virtual-runtime.ts'
import { minute, hour, report, stopped } from './schedules-scene.ts'

describe('several processes and crashes', () => {
  test('two runtimes on one file run every time once', async () => {
    const database = join(folder(), 'store.db')
    const one = await virtualRuntime({ tasks: [report], database })
    const two = await virtualRuntime({ tasks: [report], database, environment: one.environment })
    await one.runtime.schedules.put('x', { everyMs: minute }, report, { team: 'a' })
    await one.elapse(10.1 * minute)
    const { tasks } = await two.runtime.list()
    expect(tasks).toHaveLength(10)
    expect(await two.runtime.schedules.get('x')).toMatchObject({ runs: 10, missed: 0, skipped: 0 })
    // Either alone goes on.
    await stopped(one, two)
    expect((await two.runtime.list()).tasks).toHaveLength(11)
    await stopped(two, one)
  })

  test('one that was put by another process is seen at once', async () => {
    const database = join(folder(), 'store.db')
    const worker = await virtualRuntime({ tasks: [report], database })
    const other = await virtualRuntime({
      tasks: [report],
      workers: 0,
      database,
      environment: worker.environment,
    })
    await worker.elapse(1_000)
    await other.runtime.schedules.put('x', { everyMs: 1_000 }, report, { team: 'a' })
    await worker.elapse(1_500)
    expect(await worker.runtime.schedules.get('x')).toMatchObject({ runs: 1 })
    await stopped(other, worker)
    await stopped(worker, other)
  })

  test('the clock going back runs nothing again', async () => {
    const { runtime, elapse, environment } = await virtualRuntime({ tasks: [report] })
    await runtime.schedules.put('x', { everyMs: hour }, report, { team: 'a' })
    await elapse(hour)
    environment.clock.skew = -2 * hour
    await elapse(2 * hour)
    expect((await runtime.list()).tasks).toHaveLength(1)
    await elapse(hour)
    expect((await runtime.list()).tasks).toHaveLength(2)
  })
})

test('C06 processes whose time zones differ see the same times; a cron without a zone is in UTC', async () => {
  const database = join(folder(), 'store.db')
  const seen: { readonly clock: string; readonly times: string }[] = []
  for (const zone of ['Pacific/Auckland', 'America/New_York']) {
    const program = run(new URL('../processes/zone.ts', import.meta.url), database, zone)
    seen.push({ clock: await program.said('hour'), times: await program.said('times') })
    expect(await program.ended).toEqual({ code: 0, signal: null })
  }
  expect(seen.map(({ clock }) => clock)).toEqual(['hour 12', 'hour 19'])
  expect(seen[0]?.times).toBe(seen[1]?.times)
  const [, utc, later] = JSON.parse(seen[0]?.times.slice('times '.length) ?? '') as [
    number,
    number,
    { dueAt: number },
  ]
  expect(new Date(utc).toISOString()).toMatch(/T02:30:00.000Z$/)
  expect(later.dueAt).toBe(2_000_000_000_000)
})
