import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore, type OpenStoreOptions } from '../../src/index.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

describe('the options that a store is opened with', () => {
  test.each<readonly [unknown, string]>([
    [null, 'openStore options: an object with config, durability'],
    [{ durability: 'ful' }, 'openStore option durability: full | normal; given "ful"'],
    [{ acceptLos: true }, 'openStore option acceptLos: no such option, did you mean acceptLoss?'],
    [{ checked: 0 }, 'openStore option checked: true or false'],
    [{ environment: {} }, 'openStore option environment: an object with clock, timers'],
    [{ config: { leaseTtlM: 5 } }, 'leaseTtlM'],
    [{ config: null }, 'the configuration'],
  ])('%j is refused, and nothing is made', async (options, told) => {
    const path = join(scratchFolder(), 'it.db')
    await expect(openStore(`sqlite:${path}`, options as OpenStoreOptions)).rejects.toMatchObject({
      code: expect.stringMatching(/^invalid_(?:argument|config)$/) as string,
      message: expect.stringContaining(told) as string,
    })
    expect(existsSync(path)).toBe(false)
  })

  test('settings are given as to a runtime, or as they were read before', async () => {
    const { config } = parseExecutionConfig({ queueDepthLimit: 1, batchBackpressureThreshold: 1 })
    expect(parseExecutionConfig(config)).toEqual({ config, warnings: [] })
    for (const given of [config, { queueDepthLimit: 1, batchBackpressureThreshold: 1 }]) {
      const store = await openStore('sqlite::memory:', { config: given, thread: false })
      onTestFinished(() => store.close())
      const submit = () =>
        store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
      await submit()
      expect(await submit()).toMatchObject([{ accepted: false }])
    }
  })
})

test('a question that no store knows fails, and the store goes on', async () => {
  const store = await openStore('sqlite::memory:', { checked: false, thread: false })
  onTestFinished(() => store.close())
  await expect(store.read({ kind: 'nothing' } as never)).rejects.toThrow('there is no read nothing')
  expect(await store.read({ kind: 'accessTokens' })).toEqual([])
})
