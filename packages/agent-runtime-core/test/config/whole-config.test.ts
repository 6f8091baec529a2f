import { expect, test } from 'vitest'
import {
  defaultConfig,
  profileConfigRules,
  resourceLimitRules,
  settingNames,
  wholeConfig,
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
