import { describe, expect, test } from 'vitest'
import { decideOutcome } from '@ku0/agent-runtime-core'
import { endOfRunner } from '../../src/isolation/end-of-runner.ts'

const spec = { isolation: 'thread', memoryMb: 64 } as const

describe('the end of the thread or process that ran a task (docs/isolation.md)', () => {
  test('by a full memory is a hard limit, and names the setting', () => {
    const end = endOfRunner('draw', spec, { how: 'exit code 1', isOutOfMemory: true })
    expect(end).toMatchObject({ as: 'stopped', kind: 'hard_limit', error: { code: 'memory_exceeded' } })
    expect(end.as === 'stopped' && end.error.message).toBe(
      "the thread of task 'draw' used up its memoryMb of 64: raise memoryMb, or hold less at once",
    )
    expect(
      endOfRunner('draw', { ...spec, memoryMb: undefined }, { how: '', isOutOfMemory: true }),
    ).toMatchObject({
      error: {
        message:
          "the thread of task 'draw' used up the memory that the platform gives it: raise memoryMb, or hold less at once",
      },
    })
  })

  test.each([
    ['exit code 0', 'process.exit was called, or a library ended it'],
    ['SIGSEGV', 'a signal ended it: somebody killed it, or a library crashed'],
  ])('by %s is a crash', (how, why) => {
    expect(endOfRunner('draw', spec, { how, isOutOfMemory: false })).toMatchObject({
      as: 'stopped',
      kind: 'crashed',
      error: {
        code: 'crashed',
        message: `the thread of task 'draw' ended before its handler did (${how}): ${why}`,
      },
    })
  })

  test('by an error that nobody caught is a crash, with the error as its cause', () => {
    const error = { name: 'TypeError', message: 'no', stack: 'TypeError: no\n    at there' }
    expect(endOfRunner('draw', spec, { how: 'exit code 1', isOutOfMemory: false, error })).toMatchObject({
      kind: 'crashed',
      error: { message: expect.stringContaining('that nobody caught: no'), cause: error },
    })
  })

  test('is tried again by the retry policy after a crash, never after a full memory', () => {
    const retry = { attempts: 2, backoff: { initialMs: 10, factor: 2, maxMs: 100, jitter: 0 } }
    const outcomeOf = (isOutOfMemory: boolean, attempt: number) =>
      decideOutcome(endOfRunner('draw', spec, { how: 'exit code 1', isOutOfMemory }), {
        attempt,
        crashes: 0,
        retry,
        random: 0,
      })
    expect(outcomeOf(false, 1)).toMatchObject({ as: 'retry', delayMs: 10 })
    expect(outcomeOf(false, 2)).toMatchObject({ as: 'failed', kind: 'crashed' })
    expect(outcomeOf(true, 1)).toMatchObject({ as: 'failed', kind: 'hard_limit' })
  })
})
