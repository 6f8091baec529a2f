import type { Zone } from './zone.ts'

/** A duration in at most two units, short enough for a table. */
export function duration(ms: number): string {
  if (ms < 1) return '0 ms'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return pair(Math.floor(seconds / 60), 'min', seconds % 60, 's')
  const minutes = Math.round(seconds / 60)
  if (minutes < 1_440) return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
  const hours = Math.round(minutes / 60)
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })

/** A count with its thousands apart. */
export function count(value: number): string {
  return whole.format(value)
}

/** A count with its noun: `1 task`, `2 tasks`. */
export function many(value: number, one: string, more = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : more}`
}

/** An id in a table: its ends tell more than its beginning. */
export function shortId(id: string): string {
  return id.length <= 24 ? id : `${id.slice(0, 8)}…${id.slice(-12)}`
}

/** An amount of money, tokens or cost. */
export function amount(value: number): string {
  return short.format(value)
}

/** A rate in tasks a second. */
export function rate(perSecond: number): string {
  return perSecond >= 100 ? count(perSecond) : perSecond.toFixed(perSecond >= 10 || perSecond === 0 ? 0 : 1)
}

/** A formatter of moments for each time zone. */
export function formatsOf(options: Intl.DateTimeFormatOptions): Readonly<Record<Zone, Intl.DateTimeFormat>> {
  const of = (more: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en', { hourCycle: 'h23', ...options, ...more })
  return { local: of({}), UTC: of({ timeZone: 'UTC' }) }
}

const dayAndTime = {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
} as const
const thisYear = formatsOf(dayAndTime)
const anyYear = formatsOf({ year: 'numeric', ...dayAndTime })
const toTheMs = formatsOf({
  year: 'numeric',
  ...dayAndTime,
  fractionalSecondDigits: 3,
  timeZoneName: 'short',
})

const year = formatsOf({ year: 'numeric' })

/** A moment in a time zone, with its year where that is another one there than now. */
export function moment(at: number, zone: Zone, now: number): string {
  const isThisYear = year[zone].format(at) === year[zone].format(now)
  return (isThisYear ? thisYear : anyYear)[zone].format(at)
}

/** A moment with all that is known of it, as a hint. */
export function exactly(at: number, zone: Zone): string {
  return toTheMs[zone].format(at)
}

/** A moment as it is said to somebody who looks now. */
export function ago(at: number, now: number): string {
  const ms = now - at
  if (Math.abs(ms) < 1_000) return 'now'
  return ms > 0 ? `${duration(ms)} ago` : `in ${duration(-ms)}`
}

/** A list of words: `a, b and 3 more`. */
export function some(words: readonly string[], most: number): string {
  if (words.length <= most) return words.join(', ')
  return `${words.slice(0, most).join(', ')} and ${words.length - most} more`
}
