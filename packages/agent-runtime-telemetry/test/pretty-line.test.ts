import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { createLogger, type Logger, type LoggerOptions } from '../src/index.ts'

// 12:00 in any time zone of whole hours has these minutes and seconds.
const clock = { now: () => Date.UTC(2026, 0, 5, 12, 13, 14), monotonic: () => 0 }

/** What is written for `log`, to a stream that says that it is a terminal, or not. */
function written(
  terminal: { readonly isTTY?: boolean; readonly hasColors?: () => boolean },
  log: (logger: Logger) => void,
  options: Partial<LoggerOptions> = {},
): string {
  const chunks: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk))
      done()
    },
  })
  log(createLogger({ clock, stream: Object.assign(stream, terminal), ...options }))
  return chunks.join('')
}

const isTTY = true
const story = (logger: Logger) => {
  logger.info('ready')
  logger.child({ taskId: 'task-1' }).warn({ ms: 12, text: 'two words', list: [1] }, 'slow')
}

test('on a terminal a line has the time of day, the level by name, the message and the fields', () => {
  expect(written({ isTTY }, story)).toMatch(
    /^\d\d:13:14 info {2}ready\n\d\d:13:14 warn {2}slow taskId=task-1 ms=12 text="two words" list=\[1\]\n$/,
  )
})

test('off a terminal a line is JSON; a program chooses by itself, too', () => {
  expect(written({}, (logger) => logger.info('ready'))).toMatch(
    /^\{"level":30,"time":\d+,"pid":\d+,"msg":"ready"\}\n$/,
  )
  expect(written({ isTTY }, story, { format: 'json' })).toBe(written({}, story))
  expect(written({}, story, { format: 'pretty' })).toBe(written({ isTTY }, story))
  expect(() => written({}, story, { format: 'html' as 'json' })).toThrow('format')
})

test('colours are for terminals that have them', () => {
  const colored = written({ isTTY, hasColors: () => true }, story)
  expect(colored).not.toBe(stripVTControlCharacters(colored))
  expect(stripVTControlCharacters(colored)).toBe(written({ isTTY, hasColors: () => false }, story))
})

test('an error has its stack below the line', () => {
  const error = Object.assign(new TypeError('it broke'), { code: 'E_BROKEN' })
  const [line = '', ...stack] = written({ isTTY }, (logger) => logger.error({ err: error }, 'failed')).split(
    '\n',
  )
  expect(line).toMatch(/ error failed err=.*"code":"E_BROKEN".*"message":"it broke"/)
  expect(line).not.toContain('"stack"')
  expect(stack[0]).toMatch(/^ {4}at .*pretty-line\.test\.ts/)
})

test('a field or a message never controls the terminal, nor looks like another line', () => {
  const text = written({ isTTY }, (logger) =>
    logger.info({ evil: '\u001b[2J\u0007\u009b31m' }, 'one\u001b[1A\n12:00:00 info two'),
  )
  expect(text).not.toMatch(/[^\P{Cc}\n]/u)
  expect(text).toMatch(/ info {2}one\n {4}12:00:00 info two evil=/)
})
