import { describe, expect, test } from 'vitest'
import { inForce } from '../../src/config/in-force.ts'
import {
  type ConfigurationRow,
  decideConfiguration,
  defaultConfig,
  settingDifferences,
  settingNames,
  settingsAmong,
  statedSettings,
  storeSettings,
  storeSettingsOf,
  withSettings,
} from '../../src/index.ts'
import { parseExecutionConfig } from '../../src/schemas.ts'

const read = (given: object) => parseExecutionConfig(given).config

/** Processes that come and go, and what the rows of their store say. */
class Deploy {
  rows: ConfigurationRow[] = []

  start(settings: string): void {
    const { id, isNew, removed } = decideConfiguration(this.rows, settings)
    if (isNew) this.rows.push({ id, settings, processes: 0 })
    this.rows = this.rows
      .filter((row) => !removed.includes(row.id))
      .map((row) => (row.id === id ? { ...row, processes: row.processes + 1 } : row))
  }

  end(settings: string): void {
    this.rows = this.rows.map((row) =>
      row.settings === settings ? { ...row, processes: row.processes - 1 } : row,
    )
  }

  get now(): string | undefined {
    return inForce(this.rows)?.settings
  }
}

describe('which settings are in force (docs/semantics.md 8.12)', () => {
  test('8.12 the settings that came last are in force, until the last process that states them ends', () => {
    const deploy = new Deploy()
    expect(deploy.now).toBeUndefined()
    deploy.start('old')
    deploy.start('old')
    expect(deploy.now).toBe('old')
    deploy.start('new')
    expect(deploy.now).toBe('new')
    deploy.start('new')
    deploy.end('new')
    expect(deploy.now).toBe('new')
    deploy.end('new')
    expect(deploy.now).toBe('old')
    deploy.end('old')
    deploy.end('old')
    expect(deploy.now).toBeUndefined()
  })

  test('8.12 settings that were replaced do not come back while a process of the others lives', () => {
    const deploy = new Deploy()
    deploy.start('old')
    deploy.start('new')
    deploy.end('old')
    // A crash and a restart in the middle of a deploy.
    deploy.start('old')
    expect(deploy.now).toBe('new')
    deploy.end('new')
    expect(deploy.now).toBe('old')
    // What was rolled back and is rolled out again counts as new.
    deploy.start('new')
    expect(deploy.now).toBe('new')
  })

  test('8.12 settings whose processes had all ended before the others came are new again', () => {
    const deploy = new Deploy()
    deploy.start('one')
    deploy.end('one')
    deploy.start('two')
    expect(deploy.rows.map(({ settings }) => settings)).toEqual(['two'])
    deploy.start('one')
    expect(deploy.now).toBe('one')
  })

  test('8.12 however often it is deployed, few rows are kept', () => {
    const deploy = new Deploy()
    deploy.start('0')
    for (let n = 1; n < 100; n++) {
      deploy.start(String(n))
      deploy.end(String(n - 1))
      expect(deploy.rows.length).toBeLessThanOrEqual(2)
      expect(deploy.now).toBe(String(n))
    }
  })
})

describe('the settings that a process states', () => {
  test('8.12 a program that names no setting of the store states none; one that names a default does', () => {
    expect(statedSettings(defaultConfig)).toBeUndefined()
    expect(statedSettings(read({ leaseTtlMs: 60_000, queueDepthLimit: undefined }))).toBeUndefined()
    const stated = statedSettings(read({ queueDepthLimit: 1_000 }))
    expect(JSON.parse(stated ?? '')).toStrictEqual(storeSettingsOf(defaultConfig))
    // A configuration that was read keeps what its program named.
    expect(statedSettings(read(read({ leaseTtlMs: 60_000 })))).toBeUndefined()
    expect(statedSettings(read(read({ maxDelayed: 9 })))).toContain('"maxDelayed":9')
    expect(statedSettings({ ...defaultConfig })).toBe(stated)
  })

  test('8.12 each setting belongs to the store or to a process, and the text holds all of the store', () => {
    const ofProcess = settingNames.filter((name) => !(storeSettings as readonly string[]).includes(name))
    expect(ofProcess).toEqual([
      'leaseTtlMs',
      'heartbeatIntervalMs',
      'schedulerTickMs',
      'maxInFlightPerWorker',
      'maxStallMs',
      'drainGraceMs',
      'abortGraceMs',
      'cleanupTimeoutMs',
      'killGraceMs',
      'maxInlineBytes',
      'maxPayloadBytes',
      'presenceTtlMs',
      'maxWaits',
      'maxBackOffs',
      'maxChildren',
      'presenceIntervalMs',
    ])
    const whole = read({
      quotaConfig: { models: { m: { maxInFlight: 1 } } },
      shares: {},
      retention: { completed: { ageMs: 60_000 } },
      agingMs: 5,
    })
    expect(Object.keys(JSON.parse(statedSettings(whole) ?? '') as object).toSorted()).toEqual(
      [...storeSettings].toSorted(),
    )
  })

  test('8.12 a process takes the settings of the store, and keeps its own otherwise', () => {
    const own = read({
      leaseTtlMs: 60_000,
      agingMs: 7,
      maxDelayed: 9,
      retention: { completed: { ageMs: 60_000 } },
    })
    const others = statedSettings(read({ queueDepthLimit: 2_000, leaseTtlMs: 90_000 })) ?? ''
    const taken = withSettings(own, others)
    expect(taken).toEqual({ ...defaultConfig, queueDepthLimit: 2_000, leaseTtlMs: 60_000 })
    expect(Object.hasOwn(taken, 'agingMs')).toBe(false)
    // Another version knows fewer settings, or more.
    expect(withSettings(own, '{"maxClients":3,"later":1}')).toEqual({
      ...own,
      maxClients: 3,
      agingMs: undefined,
      retention: undefined,
    })
    expect(() => withSettings(own, '[]')).toThrow('an object')
  })
})

test('8.12 differences are named setting by setting, down to a limit of a quota', () => {
  const here = read({
    queueDepthLimit: 900,
    quotaConfig: { models: { m: { maxInFlight: 1 }, n: { maxInFlight: 2 } } },
  })
  const there = read({ quotaConfig: { models: { m: { maxInFlight: 3 } } }, agingMs: 5 })
  const differences = settingDifferences(storeSettingsOf(here), storeSettingsOf(there))
  expect(differences.map(({ setting }) => setting)).toEqual([
    'queueDepthLimit',
    'quotaConfig.models.m.maxInFlight',
    'quotaConfig.models.n',
    'agingMs',
  ])
  expect(differences.slice(0, 2)).toMatchObject([
    { here: '900', there: '1000' },
    { here: '1', there: '3' },
  ])
  const process = { processId: 'p', host: 'h', pid: 1 }
  const records = [
    { settings: storeSettingsOf(there), inForce: true, since: 2, processes: [{ ...process, pid: 2 }] },
    { settings: storeSettingsOf(here), inForce: false, since: 1, processes: [process] },
  ]
  expect(settingsAmong(records)[0]).toEqual({
    setting: 'queueDepthLimit',
    here: '1000',
    there: '900',
    process,
  })
  expect(settingsAmong(records.slice(1))).toEqual([])
})
