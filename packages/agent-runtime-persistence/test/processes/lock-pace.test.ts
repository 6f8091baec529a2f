import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import { LockPace } from '../../src/sqlite/lock-pace.ts'

/** Processes that all want the lock all the time, and hold it for so many ms. */
class Crowd {
  /** Before each grant, and it. */
  readonly tries: number[] = []
  readonly waitedMs: number[] = []
  private readonly random = createVirtualEnvironment('crowd').random
  private now = 0

  /** Plays so many grants; times are virtual. */
  play(processes: number, grants: number, holdMs: number): void {
    const members = Array.from({ length: processes }, () => ({ pace: new LockPace(), since: 0, next: 0 }))
    let freeAt = 0
    let tries = 0
    while (this.waitedMs.length < grants) {
      const member = members.reduce((first, it) => (it.next < first.next ? it : first))
      this.now = member.next
      tries += 1
      if (this.now < freeAt) {
        const waitedMs = this.now - member.since
        member.next += member.pace.refused({ waitedMs, isUrgent: false, draw: this.random.next() })
        continue
      }
      this.tries.push(tries)
      tries = 0
      this.waitedMs.push(this.now - member.since)
      member.pace.granted()
      freeAt = this.now + holdMs
      member.since = freeAt
      member.next = freeAt + member.pace.restMs
    }
  }
}

describe('the pace at which processes try for a lock that SQLite gives to whoever comes first', () => {
  test.each([2, 8, 20, 50])(
    '%i processes that want it all the time: none waits for four rounds',
    (processes) => {
      const crowd = new Crowd()
      crowd.play(processes, 30 * processes, 20)
      const settled = crowd.waitedMs.slice(15 * processes)
      expect(Math.max(...settled)).toBeLessThan(4 * processes * 20)
    },
  )

  test.each([
    [20, 20],
    [50, 20],
    // A machine that is overloaded holds up the holder, too: then each try holds it up more.
    [50, 100],
  ])(
    '%i processes that hold it for %i ms try some hundred times a commit, and it hardly lies idle',
    (processes, holdMs) => {
      const crowd = new Crowd()
      crowd.play(processes, 30 * processes, holdMs)
      const settled = (all: readonly number[]) => all.slice(15 * processes)
      const mean = (all: readonly number[]) => all.reduce((sum, it) => sum + it, 0) / all.length
      expect(mean(settled(crowd.tries))).toBeLessThan(300)
      expect(mean(settled(crowd.waitedMs))).toBeLessThan(1.3 * processes * holdMs)
    },
  )

  test('a process whose leases are to be renewed tries as often as one of two, from the first moment', () => {
    const pace = new LockPace()
    for (let n = 0; n < 30; n += 1) {
      pace.refused({ waitedMs: 1_000, isUrgent: false, draw: 0 })
      pace.granted()
    }
    expect(pace.refused({ waitedMs: 0, isUrgent: false, draw: 1 })).toBeGreaterThan(10)
    expect(pace.refused({ waitedMs: 0, isUrgent: true, draw: 1 })).toBe(0.5)
  })

  test('one that waits alone after a crowd is soon as quick as before', () => {
    const pace = new LockPace()
    pace.refused({ waitedMs: 1_000, isUrgent: false, draw: 0 })
    pace.granted()
    for (let n = 0; n < 20; n += 1) pace.granted()
    expect(pace.refused({ waitedMs: 0, isUrgent: false, draw: 1 })).toBe(0.5)
    expect(pace.restMs).toBe(0.3)
  })
})
