import { describe, expect, test } from 'vitest'
import { firstAfter, isTimeZone, problemOfCron, timesUntil } from '../../src/terms/schedule-times.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** The next `count` times after `from`, as dates in UTC. */
function times(cron: string, timeZone: string, from: string, count: number): string[] {
  const found: string[] = []
  for (let at: number | null = Date.parse(from); found.length < count;) {
    at = firstAfter({ cron, timeZone }, at)
    if (at === null) break
    found.push(new Date(at).toISOString().replace(':00.000Z', ''))
  }
  return found
}

describe('the times of a cron expression', () => {
  test('a time that the clocks skip in spring comes when they have been put forward', () => {
    expect(times('30 2 * * *', 'Europe/Paris', '2026-03-27T12:00Z', 3)).toEqual([
      '2026-03-28T01:30',
      '2026-03-29T01:00', // 03:00 in Paris; there is no 02:30
      '2026-03-30T00:30',
    ])
    expect(times('30 2 * * *', 'America/New_York', '2026-03-07T12:00Z', 2)).toEqual([
      '2026-03-08T07:00', // 03:00 in New York
      '2026-03-09T06:30',
    ])
  })

  test('a time that comes twice in autumn counts the first time only', () => {
    expect(times('30 2 * * *', 'Europe/Paris', '2026-10-24T12:00Z', 2)).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ])
    expect(times('30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', 2)).toEqual([
      '2026-11-01T05:30',
      '2026-11-02T06:30',
    ])
  })

  test('a schedule of every so many minutes or hours goes on evenly through both', () => {
    const spring = times('*/30 * * * *', 'Europe/Paris', '2026-03-29T00:10Z', 4)
    expect(spring).toEqual(['2026-03-29T00:30', '2026-03-29T01:00', '2026-03-29T01:30', '2026-03-29T02:00'])
    const autumn = times('0 * * * *', 'Europe/Paris', '2026-10-24T23:10Z', 4)
    expect(autumn).toEqual(['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00', '2026-10-25T03:00'])
  })

  test('the hour of a zone moves with its clocks', () => {
    expect(times('0 9 * * 1-5', 'Europe/Paris', '2026-03-27T07:00Z', 3)).toEqual([
      '2026-03-27T08:00', // Friday, winter time
      '2026-03-30T07:00', // Monday, summer time
      '2026-03-31T07:00',
    ])
  })

  test('the 29th of February comes in leap years, across a century that has none', () => {
    expect(times('0 0 29 2 *', 'UTC', '2026-01-01T00:00Z', 2)).toEqual([
      '2028-02-29T00:00',
      '2032-02-29T00:00',
    ])
    expect(times('0 0 29 2 *', 'UTC', '2096-03-01T00:00Z', 1)).toEqual(['2104-02-29T00:00'])
  })

  test('days of month and of week are either of them; names, six fields and @daily are understood', () => {
    expect(times('0 0 13 * FRI', 'UTC', '2026-01-01T00:00Z', 3)).toEqual([
      '2026-01-02T00:00',
      '2026-01-09T00:00',
      '2026-01-13T00:00',
    ])
    expect(times('@daily', 'UTC', '2026-01-01T00:00Z', 1)).toEqual(['2026-01-02T00:00'])
    expect(firstAfter({ cron: '*/10 * * * * *', timeZone: 'UTC' }, 0)).toBe(10_000)
  })

  test('the next time is later than the one asked about, to the ms', () => {
    const timing = { cron: '0 * * * *', timeZone: 'UTC' }
    expect(firstAfter(timing, hour - 1)).toBe(hour)
    expect(firstAfter(timing, hour)).toBe(2 * hour)
    expect(firstAfter(timing, hour + 1)).toBe(2 * hour)
  })

  test('there may be none', () => {
    expect(firstAfter({ cron: '0 0 31 2 *', timeZone: 'UTC' }, 0)).toBeNull()
  })

  test.each([
    ['30 2 * * *', 'Europe/Paris', '2026-03-28T12:00Z'],
    ['30 2 * * *', 'Europe/Paris', '2026-10-24T12:00Z'],
    ['*/20 1-3 * * *', 'America/New_York', '2026-03-08T00:00Z'],
    ['*/20 1-3 * * *', 'America/New_York', '2026-11-01T00:00Z'],
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z'],
    ['0 0 * * *', 'Africa/Cairo', '2026-04-23T00:00Z'],
  ])('%s in %s around %s: wherever one begins to look, the times are the same', (cron, timeZone, from) => {
    const timing = { cron, timeZone }
    const begin = Date.parse(from)
    const all = timesUntil(timing, firstAfter(timing, begin) ?? 0, begin + 2 * day, 1_000).due
    expect(all.length).toBeGreaterThan(1)
    for (let at = begin; at < begin + day; at += 10 * minute)
      expect([at, firstAfter(timing, at)]).toEqual([at, all.find((time) => time > at)])
  })
})

describe('the times of an interval', () => {
  const timing = { everyMs: 7_000, anchorAt: 100 }

  test('count from the anchor: there is no drift', () => {
    expect(firstAfter(timing, 100)).toBe(7_100)
    expect(firstAfter(timing, 7_099)).toBe(7_100)
    expect(firstAfter(timing, 7_100)).toBe(14_100)
    expect(firstAfter(timing, 100 + 7_000 * 1_000_000_000 + 1)).toBe(100 + 7_000 * 1_000_000_001)
  })

  test('a clock before the anchor waits for the first', () => {
    expect(firstAfter(timing, -50_000)).toBe(7_100)
  })

  test('a year in ms is more than a timer of the platform can wait for', () => {
    expect(firstAfter({ everyMs: 365 * day, anchorAt: 0 }, 1)).toBe(365 * day)
  })

  test('the newest of very many are found without a walk', () => {
    const { due, count } = timesUntil({ everyMs: 1_000, anchorAt: 0 }, 1_000, 365 * day, 3)
    expect(due).toEqual([365 * day - 2_000, 365 * day - 1_000, 365 * day])
    expect(count).toBe(365 * 24 * 60 * 60)
  })
})

describe('the times that have come', () => {
  test('are all from the first to now', () => {
    const hourly = { cron: '0 * * * *', timeZone: 'UTC' }
    expect(timesUntil(hourly, hour, 3 * hour, 9)).toEqual({ due: [hour, 2 * hour, 3 * hour], count: 3 })
    expect(timesUntil(hourly, hour, hour, 9)).toEqual({ due: [hour], count: 1 })
    expect(timesUntil({ everyMs: hour, anchorAt: 0 }, hour, 3 * hour + 1, 9)).toEqual({
      due: [hour, 2 * hour, 3 * hour],
      count: 3,
    })
  })

  test('the newest of more than a thousand are listed', () => {
    const minutely = { cron: '* * * * *', timeZone: 'Europe/Paris' }
    const now = 10 * 365 * day
    const { due, count } = timesUntil(minutely, minute, now, 3)
    expect(due).toEqual([now - 2 * minute, now - minute, now])
    expect(count).toBeGreaterThan(1_000)
  })
})

describe('texts that are no cron expression or time zone', () => {
  test.each([
    ['61 9 * * *', 'Invalid value for minute: 61'],
    ['0 9 * *', 'it must have five or six fields'],
    ['0 0 0 1 1 * 2030', 'it must have five or six fields'],
    ['2026-05-05T00:00:00', 'it must have five or six fields'],
    ['', 'it must have five or six fields'],
    ['@reboot', '@reboot is not supported'],
    ['@never', ''],
    ['0 9 * * MOO', ''],
  ])('%j is refused so: %s', (cron, problem) => {
    expect(problemOfCron(cron)).toContain(problem)
  })

  test('zones are those that the platform knows', () => {
    expect(['Europe/Paris', 'UTC', 'Europe/Mars', '', 7].map(isTimeZone)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ])
  })
})
