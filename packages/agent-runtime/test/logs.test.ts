import { StoreError } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type RuntimeOptions } from '../src/index.ts'
import { turns, until, virtualRuntime } from './virtual-runtime.ts'

const secret = 'hunter2'
const cause = Object.assign(new Error(`read ${secret}`), { code: 'EACCES' })
const failure = () => Object.assign(new RangeError(`no ${secret}`, { cause }), { code: 'E_MINE' })

/** Everything that the runtime logs by itself about errors that are not its own. */
async function troubled(options: Pick<RuntimeOptions, 'telemetry' | 'logger'> = {}) {
  const task = defineTask({ type: 'messy', input: z.null() }, async (ctx) => {
    ctx.onCleanup(() => Promise.reject(failure()))
    await ctx.emit<unknown>({ [secret]: () => 1 }).catch(() => {})
    ctx.log.info('mine', { error: { name: 'Mine', message: 'as written', stack: 'at home' } })
    throw failure()
  })
  const { runtime, log } = await virtualRuntime({ tasks: [task], ...options })
  runtime.on('task.failed', () => {
    throw failure()
  })
  await runtime.submit(task, null)
  await turns()
  return log
}

describe("execution: the runtime's own log", () => {
  test('X09 a foreign error is reported by name and code, without a stack', async () => {
    const log = await troubled()
    const error = { name: 'RangeError', code: 'E_MINE', cause: { name: 'Error', code: 'EACCES' } }
    expect(log.map(({ message, fields }) => [message, fields['error']])).toEqual([
      ['a write was refused', { name: 'StepNotSerializable', code: 'step_not_serializable' }],
      ['mine', { name: 'Mine', message: 'as written', stack: 'at home' }],
      ['a listener failed', error],
      ['a clean-up hook failed', error],
    ])
    expect(JSON.stringify(log)).not.toContain(secret)
  })

  test("leaves a handler's line as it is, whatever its words", async () => {
    const error = { name: 'Mine', message: 'as written' }
    const task = defineTask({ type: 'copycat', input: z.null() }, (ctx) => {
      ctx.log.warn('a write was refused', { error })
    })
    const { runtime, log } = await virtualRuntime({ tasks: [task] })
    await runtime.submit(task, null)
    await turns()
    expect(log).toMatchObject([
      { message: 'a write was refused', fields: { error, type: 'copycat', attempt: 1 } },
    ])
  })

  test('adds messages with logPayloads, and stacks where debug is enabled', async () => {
    const withPayloads = await troubled({ telemetry: { logPayloads: true } })
    const ofHook = withPayloads.find(({ message }) => message === 'a clean-up hook failed')
    expect(ofHook?.fields['error']).toEqual({
      name: 'RangeError',
      code: 'E_MINE',
      message: `no ${secret}`,
      cause: { name: 'Error', code: 'EACCES', message: `read ${secret}` },
    })

    const lines: object[] = []
    const write = (fields: object, message: string) => lines.push({ ...fields, message })
    const logger = { debug: write, info: write, warn: write, error: write, isLevelEnabled: () => true }
    await troubled({ logger, telemetry: { logPayloads: true } })
    expect(lines).toContainEqual(
      expect.objectContaining({
        message: 'a clean-up hook failed',
        error: expect.objectContaining({ stack: expect.stringContaining(`no ${secret}`) }),
      }),
    )
    lines.length = 0
    await troubled({ logger })
    expect(JSON.stringify(lines)).not.toContain(secret)
  })

  test('an error of the store is reported by its message', async () => {
    const { store, log } = await virtualRuntime({
      tasks: [],
      onFailure: () => {
        throw failure()
      },
    })
    const broken = new StoreError('store_io', 'the disk is gone', { cause: failure() })
    // Only a broken disk makes a store say this by itself.
    ;(store as unknown as { fail(error: Error): void }).fail(broken)
    await until(() => log.length === 2)
    expect(log.map(({ fields }) => fields['error'])).toMatchObject([
      { name: 'StoreError', code: 'store_io', message: 'the disk is gone', cause: { name: 'RangeError' } },
      { name: 'RangeError', code: 'E_MINE' },
    ])
    expect(JSON.stringify(log)).not.toMatch(/hunter2|stack/)
  })
})
