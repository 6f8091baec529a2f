import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { stoppedBySignals } from '../src/cli/stopped-by-signals.ts'

test('the first signal stops a command, the second says nothing new, and the third ends it at once', () => {
  const signals = new EventEmitter()
  const ended: number[] = []
  const reason = new Error('interrupted')
  const stop = stoppedBySignals(reason, {
    on: (signal, heard) => signals.on(signal, heard),
    exit: (code) => ended.push(code),
  })
  expect(stop.aborted).toBe(false)
  signals.emit('SIGINT')
  expect(stop.reason).toBe(reason)
  signals.emit('SIGTERM')
  expect(ended).toEqual([])
  signals.emit('SIGINT')
  expect(ended).toEqual([130])
})
