import { appendFileSync, existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { CommitWatch } from '../../src/line/commit-watch.ts'
import { HintPace } from '../../src/line/hint-pace.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

/** A watch of a database that others have open; `next` resolves with the next hint. */
function watching(path: string, mono = { now: 0 }) {
  let hear = () => {}
  const commits = new CommitWatch({
    path,
    clock: { now: () => 0, monotonic: () => mono.now },
    onCommit: () => hear(),
  })
  onTestFinished(() => commits.close())
  commits.tell(true)
  const next = (act: () => void) =>
    new Promise<'heard'>((heard) => {
      hear = () => heard('heard')
      act()
    })
  return { commits, next }
}

test('a watch that works reports its own beginning, and is on until it is closed', async () => {
  const path = join(scratchFolder(), 'it.db')
  writeFileSync(`${path}-anchor`, '')
  const { commits, next } = watching(path)
  expect(await next(() => undefined)).toBe('heard')
  expect(commits.isOn).toBe(true)
  commits.tell(false)
  expect(commits.isOn).toBe(false)
})

test('a write to the anchor is heard', async () => {
  const path = join(scratchFolder(), 'it.db')
  writeFileSync(`${path}-anchor`, '')
  const { next } = watching(path)
  expect(await next(() => appendFileSync(`${path}-anchor`, 'x'))).toBe('heard')
  expect(await next(() => appendFileSync(`${path}-anchor`, 'y'))).toBe('heard')
})

test('an anchor that was replaced is heard, and watched again', async () => {
  const path = join(scratchFolder(), 'it.db')
  writeFileSync(`${path}-anchor`, '')
  const { commits, next } = watching(path)
  expect(await next(() => renameSync(`${path}-anchor`, `${path}-old`))).toBe('heard')
  writeFileSync(`${path}-anchor`, '')
  commits.tell(true)
  expect(await next(() => appendFileSync(`${path}-anchor`, 'x'))).toBe('heard')
})

test('where there is no anchor it tries again after a second', async () => {
  const path = join(scratchFolder(), 'it.db')
  const mono = { now: 5 }
  const { commits, next } = watching(path, mono)
  expect(existsSync(`${path}-anchor`)).toBe(false)
  writeFileSync(`${path}-anchor`, '')
  mono.now += 1_000
  commits.tell(true)
  expect(await next(() => appendFileSync(`${path}-anchor`, 'x'))).toBe('heard')
})

test('a store looks at once, and more seldom while it finds nothing', () => {
  const pace = new HintPace()
  expect(pace.takes(0)).toBe(false)
  pace.hear(100)
  pace.hear(101)
  expect(pace.at).toBe(100)
  expect(pace.takes(100)).toBe(true)
  expect(pace.takes(100)).toBe(false)
  const gaps: number[] = []
  let now = 100
  for (let look = 0; look < 6; look++) {
    pace.looked(now, false)
    pace.hear(now)
    gaps.push(pace.at - now)
    now = pace.at
    expect(pace.takes(now)).toBe(true)
  }
  expect(gaps).toEqual([1, 2, 4, 8, 10, 10])
  pace.looked(now, true)
  pace.hear(now)
  expect(pace.at).toBe(now)
})

test('where a look takes long it looks ten times more seldom, up to ten times a second, and at once after one that found something', () => {
  const pace = new HintPace()
  const look = (tookMs: number, found: boolean) => {
    pace.hear(1_000)
    const from = pace.at
    expect(pace.takes(from)).toBe(true)
    pace.looked(from + tookMs, found)
    pace.hear(from + tookMs)
    return pace.at - from - tookMs
  }
  expect(look(4, false)).toBe(40)
  expect(look(0.5, false)).toBe(5)
  expect(look(30, false)).toBe(100)
  expect(look(30, true)).toBe(0)
})

test('after a calm it looks at once again', () => {
  const pace = new HintPace()
  pace.looked(0, false)
  pace.hear(50)
  expect(pace.at).toBe(50)
})

test('once the others are quiet it looks although the last looks found nothing, and no more often than the looks may cost', () => {
  const pace = new HintPace(2)
  let now = 0
  const look = (tookMs: number) => {
    pace.hear(now)
    now = pace.at
    expect(pace.takes(now)).toBe(true)
    now += tookMs
    pace.looked(now, false)
  }
  for (let n = 0; n < 6; n++) look(0)
  // They are quiet after one commit, or after the second.
  pace.hear(now)
  expect(pace.at - now).toBe(2)
  pace.hear(now + 1.5)
  expect(pace.at - now).toBe(3.5)
  // They never are.
  for (let ms = 2; ms < 12; ms++) pace.hear(now + ms)
  expect(pace.at - now).toBe(10)
  look(0.7)
  pace.hear(now)
  expect(pace.at - now).toBeCloseTo(7)
})
