import { assert, expect, test } from 'vitest'
import { wholeConfig, namedSettings } from '../../src/config/whole-config.ts'
import {
  defaultConfig,
  profileConfigRules,
  readPlainConfig,
  resourceLimitRules,
  settingNames,
} from '../../src/index.ts'
import { ExecutionConfig, parseExecutionConfig, ProfileConfig, ResourceLimit } from '../../src/schemas.ts'

test('a program without settings gets the settings of the schema where nothing is set', () => {
  const { config } = parseExecutionConfig()
  expect(config).toEqual(defaultConfig)
  expect(Object.keys(config)).toEqual(Object.keys(defaultConfig))
  expect(Object.isFrozen(defaultConfig)).toBe(true)
  expect([...settingNames].toSorted()).toEqual(Object.keys(ExecutionConfig.unwrap().shape).toSorted())
})

test('a configuration that was read is not looked at again; what looks like one is', () => {
  const { config } = parseExecutionConfig({ leaseTtlMs: 20_000 })
  expect(wholeConfig(config)).toBe(config)
  expect(wholeConfig(undefined)).toBe(defaultConfig)
  expect(wholeConfig({ ...config })).toBeUndefined()
  expect(wholeConfig({ leaseTtlMs: 20_000 })).toBeUndefined()
  expect(wholeConfig(null)).toBeUndefined()
  expect(readPlainConfig(undefined)?.config).toBe(defaultConfig)
  expect(readPlainConfig(config)?.config).toBe(config)
})

test('settings that are plainly right are read as the schema reads them, and no others', () => {
  const numbers = [1, 2, 333, 1_000_000_000, 1_000_000_001, 31_536_000_000, 31_536_000_001, 0, -1, 1.5]
  const others = [Number.NaN, Number.POSITIVE_INFINITY, '1', null, true, false, undefined, {}, [1]]
  const settings = [...settingNames, 'leaseTtl', '__proto__', 'toString']
  const given: unknown[] = settings.flatMap((name) =>
    [...numbers, ...others].map((value) => Object.fromEntries([[name, value]])),
  )
  given.push({ leaseTtlMs: 9_000, heartbeatIntervalMs: 4_000, preemption: true }, {}, [], null, 7, 'settings')
  given.push({ leaseTtlMs: 9_000, heartbeatIntervalMs: 9_000 }, { queueDepthLimit: 7 })
  given.push(Object.create({ leaseTtlMs: 1 }), new Map(), Object.create(null))
  let plain = 0
  for (const one of given) {
    const read = readPlainConfig(one)
    if (read === undefined) continue
    plain += 1
    const bySchema = parseExecutionConfig(one)
    expect(read).toEqual(bySchema)
    // Byte by byte: the order of the settings is part of what processes compare.
    expect(JSON.stringify(read.config)).toBe(JSON.stringify(bySchema.config))
    expect(namedSettings(read.config)).toEqual(namedSettings(bySchema.config))
    expect(Object.isFrozen(read.config)).toBe(true)
  }
  // Most settings are plain, or a program that sets one would load the schemas.
  expect(plain).toBeGreaterThan(150)
})

test('settings that cannot be read are left to the schema', () => {
  const trap = new Proxy({}, { ownKeys: () => assert.fail('it cannot be read') })
  expect(readPlainConfig(trap)).toBeUndefined()
})

test.each([
  ['a profile config', profileConfigRules, ProfileConfig.shape],
  ['limits', resourceLimitRules, ResourceLimit.shape],
])('the rules of %s allow what the schema allows, and say it in the same words', (_, rules, shape) => {
  expect(Object.keys(rules)).toEqual(Object.keys(shape))
  const most = 9_000_000_000_000_000
  const values = ['?', 1, 0, -1, 1.5, most, most + 2, 31_536_000_000_000, true, Number.NaN, null, {}]
  const known = rules as Record<string, readonly [string, (value: unknown) => boolean]>
  for (const [name, schema] of Object.entries(shape)) {
    const { error } = schema.safeParse('?')
    const byRule = [name, known[name]?.[0], values.map((value) => known[name]?.[1](value))]
    const bySchema = [name, error?.issues[0]?.message, values.map((value) => schema.safeParse(value).success)]
    expect(byRule).toEqual(bySchema)
  }
})
