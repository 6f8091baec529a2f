import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { type AtOnce, atOnceSettings as settings, type Part } from '../helpers/at-once.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { cleanBesideTheDead as clean, OwnStore } from '../helpers/own-store.ts'
import { Program } from '../helpers/program.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

/** How long all of them go on, in s. Times are judged in the minute alone, on a machine that does nothing else: beside other tests they say nothing. */
const seconds = Number(process.env['AT_ONCE_SECONDS'] ?? draws(3, 3, 12))
const isTimed = seconds >= 60
const barMs = isTimed ? 500 : Number.POSITIVE_INFINITY
const leastRounds = isTimed ? seconds / 4 : 0

test(
  'J02 four submit, four work, others died or stand still with what they hold, and each second a backup and a verification begin: nothing is lost, and 99 of 100 submissions are answered in time',
  { timeout: 240_000 },
  async () => {
    const path = join(scratchFolder(), 'it.db')
    const own = await OwnStore.open(path, settings)
    own.store.interest({ types: ['task.completed'], tasks: [] })
    const first = await own.submit(4)
    const holder = async (workerId: string) => {
      const child = await ChildStore.open({ path, config: settings, worker: { workerId, capacity: 2 } })
      await child.heard(({ claimed }) => claimed !== undefined, 2)
      return child
    }
    const [dead, asleep] = [await holder('dead'), await holder('asleep')]
    const start = (part: Part, count: number) =>
      Array.from({ length: count }, () => new Program('at-once.ts', path, part, String(seconds * 1_000)))
    const workers = start('work', 4)
    for (const worker of workers) await worker.said('{"ready"')
    const others = [...start('submit', 4), ...start('back-up', 1), ...start('verify', 1)]
    stopBetweenCommits(asleep, path)
    await dead.kill()

    const told = await Promise.all(others.map(toldBy))
    const accepted = told.flatMap((it) => it.accepted ?? [])
    await own.until(() => own.events.length === accepted.length + 4, 'the last task')
    for (const { child } of workers) child.stdin?.end()
    const work = await Promise.all(workers.map(toldBy))
    asleep.signal('SIGCONT')
    expect(await asleep.end()).toBe(0)

    expect(work.flatMap(({ stale }) => stale)).toEqual([])
    expect(work.reduce((sum, { completed = 0 }) => sum + completed, 0)).toBe(accepted.length + 4)
    expect(own.events.map(({ taskId }) => taskId).toSorted()).toEqual([...first, ...accepted].toSorted())
    for (const { good = [] } of told.slice(4)) {
      expect(good.length).toBeGreaterThan(leastRounds)
      expect(good).not.toContain(false)
    }
    const tookMs = told.flatMap((it) => it.tookMs ?? []).toSorted((a, b) => a - b)
    const { totals } = await own.store.read({ kind: 'stats' })
    expect(totals).toMatchObject({ submitted: accepted.length + 4, failed: 0, expired: 4, requeued: 4 })
    expect(totals.rejected).toBe(tookMs.length - accepted.length)
    // Beside other tests the submitters may be too slow to fill the queue.
    expect(totals.rejected).toBeGreaterThan(isTimed ? settings.maxRejectedKept : -1)
    const { tasks } = await own.store.read({ kind: 'tasks', filter: { states: ['rejected'] } })
    expect(tasks).toHaveLength(Math.min(totals.rejected, settings.maxRejectedKept))
    await clean(own, path, settings)
    expect(tookMs[Math.ceil(0.99 * tookMs.length) - 1]).toBeLessThan(barMs)
  },
)

/** Stops a process where it does not hold the lock of the database: stopped inside of a commit it would keep everybody from writing. */
function stopBetweenCommits(child: ChildStore, path: string): void {
  const db = new Database(path, { timeout: 2_000 })
  try {
    for (let tries = 0; tries < 20; tries += 1) {
      child.signal('SIGSTOP')
      try {
        db.exec('BEGIN IMMEDIATE; ROLLBACK')
        return
      } catch {
        child.signal('SIGCONT')
      }
    }
    throw new Error('the process held the lock whenever it was stopped')
  } finally {
    db.close()
  }
}

/** What it says last, when it has ended as it should. */
async function toldBy(program: Program): Promise<AtOnce> {
  await program.ended
  expect(program.child.exitCode).toBe(0)
  return JSON.parse(program.lines.at(-1) ?? '{}') as AtOnce
}
