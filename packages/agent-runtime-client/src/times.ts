/**
 * A record of an answer as the library has it: moments are epoch ms again. Values of users, the data of events and labels stay as they
 * came.
 */
export function withTimes(record: unknown): unknown {
  if (Array.isArray(record)) return record.map(withTimes)
  if (typeof record !== 'object' || record === null) return record
  return Object.fromEntries(
    Object.entries(record).map(([name, item]) => {
      if (isTime(name) && typeof item === 'string') return [name, Date.parse(item)]
      return [name, untouched.has(name) ? item : withTimes(item)]
    }),
  )
}

function isTime(name: string): boolean {
  return name.endsWith('At') || otherTimes.has(name)
}

const otherTimes: ReadonlySet<string> = new Set(['at', 'scheduledFor', 'until', 'blockedUntil', 'since'])

const untouched: ReadonlySet<string> = new Set([
  'input',
  'output',
  'result',
  'value',
  'artifact',
  'data',
  'error',
  'labels',
  'published',
  'taken',
  'unread',
])
