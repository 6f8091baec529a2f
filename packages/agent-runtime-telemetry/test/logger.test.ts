import { once } from 'node:events'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { attachTelemetry, createLogger, droppedLines } from '../src/index.ts'
import { chattyProcess, run } from './chatty-scene.ts'
import { Scene } from './scene.ts'

const clock = { now: () => 1_700_000_000_000, monotonic: () => 0 }

describe('standard error is a pipe', () => {
  test('F11 that nobody reads: the process goes on, lines are dropped and counted, and it ends when it wants to', async () => {
    const child = chattyProcess()
    expect(await run(child)).toBeGreaterThan(8_000)
    child.disconnect()
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})

test('a line is what pino writes for the same call', () => {
  const written: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk))
      done()
    },
  })
  const timestamp = () => `,"time":${clock.now()}`
  const theirs = pino({ level: 'debug', timestamp, base: { pid: process.pid } }, stream)
  const ours = createLogger({ clock, stream, level: 'debug' })
  const failure = Object.assign(new TypeError('it broke'), { code: 'E_BROKEN' })
  for (const logger of [ours, theirs]) {
    logger.info('ready')
    logger.warn({ taskId: 'a', n: 1, none: undefined, list: [1, 'x'] }, 'with fields')
    logger.error(failure)
    logger.error({ err: failure }, 'with an error')
    logger.child({ component: 'store' }).debug({ text: 'two\nlines' }, 'of a child')
    logger.trace('below the level')
  }
  const lines = written.map((line) => JSON.parse(line) as unknown)
  expect(lines).toHaveLength(10)
  expect(lines.slice(0, 5)).toEqual(lines.slice(5))
  expect([ours.isLevelEnabled('debug'), ours.isLevelEnabled('trace')]).toEqual([true, false])
})

test('a value that JSON cannot hold costs no line', () => {
  const written: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk))
      done()
    },
  })
  const circle: Record<string, unknown> = { size: 1n }
  circle['self'] = circle
  const thrower = {
    get field(): unknown {
      throw new Error('unreadable')
    },
  }
  const logger = createLogger({ clock, stream })
  logger.info({ size: 2n, circle, thrower }, 'still there')
  logger.info(thrower, 'and this one')
  expect(written.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { msg: 'still there', size: '2' },
    { msg: 'and this one', field: '[unreadable]' },
  ])
})

test('the lines that wait for a slow reader are bounded, and later lines are written', () => {
  const written: string[] = []
  let release = () => {}
  const slow = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk))
      release = done
    },
  })
  const logger = createLogger({ clock, stream: slow, maxWaitingBytes: 1_000 })
  for (let line = 0; line < 100; line += 1) logger.warn({ line }, 'chatter')
  const dropped = droppedLines(logger)
  expect(dropped).toBeGreaterThan(80)
  expect(slow.writableLength).toBeLessThanOrEqual(1_000)
  while (slow.writableLength > 0) release()
  logger.warn('after')
  expect(written.length).toBe(100 - dropped + 1)
})

test('F11 a stream that throws, fails or has ended costs lines, nothing else', async () => {
  const throwing = new Writable({
    write: () => {
      throw new Error('sink')
    },
  })
  const failing = new Writable({ write: (_chunk, _encoding, done) => done(new Error('ENOSPC')) })
  const ended = new Writable({ write: (_chunk, _encoding, done) => done() }).end()
  for (const stream of [throwing, failing, ended]) {
    const logger = createLogger({ clock, stream })
    logger.warn('lost')
    await new Promise(setImmediate)
    expect(droppedLines(logger)).toBe(1)
  }
})

test('children share the count, and telemetry reports it', () => {
  const scene = new Scene()
  const stream = new Writable({ write: (_chunk, _encoding, done) => done() }).end()
  const logger = createLogger({ clock, stream })
  logger.child({ component: 'x' }).warn('lost')
  using telemetry = attachTelemetry(scene, { clock, timers: scene.clock, logger })
  scene.expired('a', 'lease-1')
  expect(telemetry.dropped.logs).toBe(2)
})

test('a logger made elsewhere counts nothing', () => {
  expect(droppedLines(pino({ enabled: false }))).toBe(0)
  expect(droppedLines(undefined)).toBe(0)
})
