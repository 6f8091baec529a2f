import { describe, expect, test } from 'vitest'
import { ExecutionConfig } from '../../src/config/schema.ts'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import { ConfigError } from '../../src/error/errors.ts'

function problemsOf(input: unknown) {
  try {
    parseExecutionConfig(input)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

describe('parseExecutionConfig', () => {
  test('has the defaults of Track AA and of docs/semantics.md', () => {
    const { config, warnings } = parseExecutionConfig()
    expect(config).toStrictEqual({
      leaseTtlMs: 30_000,
      heartbeatIntervalMs: 5_000,
      schedulerTickMs: 100,
      maxInFlightPerWorker: 4,
      queueDepthLimit: 1_000,
      batchBackpressureThreshold: 500,
      maxDelayed: 100_000,
      maxRejectedKept: 10_000,
      maxCrashes: 5,
      maxStallMs: 600_000,
      drainGraceMs: 30_000,
      abortGraceMs: 30_000,
      cleanupTimeoutMs: 10_000,
      killGraceMs: 5_000,
      maxInlineBytes: 262_144,
      maxPayloadBytes: 1_048_576,
      presenceTtlMs: 90_000,
      maxWaits: 1_000,
      maxBackOffs: 10_000,
      maxSignals: 1_000,
      maxSchedules: 10_000,
      maxCatchUp: 100,
      maxEvaluationsKept: 1_000,
      maxEvaluatedAgents: 10_000,
      maxChildren: 10_000,
      presenceIntervalMs: 30_000,
      circuitScarLimit: 1,
      circuitOpenMs: 30_000,
      scarFactor: 5,
      preemption: false,
      maxClients: 100_000,
    })
    expect(warnings).toStrictEqual([])
    expect(parseExecutionConfig({}).config).toStrictEqual(config)
    expect(parseExecutionConfig(config).config).toStrictEqual(config)
  })

  test('is deeply frozen and leaves what was given alone', () => {
    const input = {
      leaseTtlMs: 60_000,
      quotaConfig: { models: { m: { maxInFlight: 1 } }, defaults: { tool: {} } },
    }
    const { config } = parseExecutionConfig(input)
    const { quotaConfig } = config
    const { models, defaults } = quotaConfig ?? {}
    for (const part of [config, quotaConfig, models, models?.['m'], defaults, defaults?.tool]) {
      expect(part).toBeDefined()
      expect(Object.isFrozen(part)).toBe(true)
    }
    input.leaseTtlMs = 1
    input.quotaConfig.models.m.maxInFlight = 9
    expect(config.leaseTtlMs).toBe(60_000)
    expect(models?.['m']?.maxInFlight).toBe(1)
  })

  test('names a relation that does not hold beside a field that is wrong, unless it is about that field', () => {
    const pathsOf = (input: unknown) => problemsOf(input).map(({ path }) => path)
    expect(
      pathsOf({ leaseTtlMs: 1_000, heartbeatIntervalMs: 5_000, maxCrashes: 0, foo: 1 }).toSorted(),
    ).toEqual(['foo', 'heartbeatIntervalMs', 'maxCrashes'])
    expect(pathsOf({ leaseTtlMs: 'x', heartbeatIntervalMs: 50_000 })).toEqual(['leaseTtlMs'])
  })

  const ms = 'a whole number of ms from 1 to 31536000000'
  const settings = Object.keys(ExecutionConfig.unwrap().shape).join(', ')
  const names = 'limits by name (of 1 to 255 characters, not __proto__)'
  const labelNames = 'limits by label, then by value (of 1 to 255 characters, not __proto__)'
  test.each<[input: unknown, path: string, allowed: string, given: unknown]>([
    [null, 'the configuration', 'an object with settings', null],
    [[], 'the configuration', 'an object with settings', []],
    ['{}', 'the configuration', 'an object with settings', '{}'],
    [{ leaseTtlMs: '30s' }, 'leaseTtlMs', ms, '30s'],
    [{ leaseTtlMs: '30000' }, 'leaseTtlMs', ms, '30000'],
    [{ leaseTtlMs: 0 }, 'leaseTtlMs', ms, 0],
    [{ leaseTtlMs: -1 }, 'leaseTtlMs', ms, -1],
    [{ leaseTtlMs: 1.5 }, 'leaseTtlMs', ms, 1.5],
    [{ leaseTtlMs: Number.NaN }, 'leaseTtlMs', ms, Number.NaN],
    [{ leaseTtlMs: Number.POSITIVE_INFINITY }, 'leaseTtlMs', ms, Number.POSITIVE_INFINITY],
    [{ leaseTtlMs: 31_536_000_001 }, 'leaseTtlMs', ms, 31_536_000_001],
    [{ leaseTtlMs: 2 ** 60 }, 'leaseTtlMs', ms, 2 ** 60],
    [{ leaseTtlMs: null }, 'leaseTtlMs', ms, null],
    [{ leaseTtlMs: 30_000n }, 'leaseTtlMs', ms, 30_000n],
    [{ queueDepthLimit: true }, 'queueDepthLimit', 'a whole number of tasks from 1 to 1000000000', true],
    [{ preemption: 'yes' }, 'preemption', 'true or false', 'yes'],
    [{ leaseTTLms: 5 }, 'leaseTTLms', 'no such setting, did you mean leaseTtlMs?', 5],
    [{ LEASE_TTL_MS: 5 }, 'LEASE_TTL_MS', 'no such setting, did you mean leaseTtlMs?', 5],
    [{ heartbeatInterval: 5 }, 'heartbeatInterval', 'no such setting, did you mean heartbeatIntervalMs?', 5],
    [{ 'max crashs': 5 }, '["max crashs"]', 'no such setting, did you mean maxCrashes?', 5],
    [
      { quotaConfig: { models: { m: undefined } } },
      'quotaConfig.models.m',
      'an object with limits',
      undefined,
    ],
    [{ capacity: 7 }, 'capacity', 'no such setting, write workers: { capacity: 7 } beside config', 7],
    [
      { concurrency: 'all' },
      'concurrency',
      'no such setting, write workers: { capacity: 4 } beside config',
      'all',
    ],
    [
      { maxConcurrency: 1.5 },
      'maxConcurrency',
      'no such setting, write workers: { capacity: 4 } beside config',
      1.5,
    ],
    [{ pollEvery: 5 }, 'pollEvery', `no such setting; there are ${settings}`, 5],
    [
      JSON.parse('{"__proto__":{"leaseTtlMs":1}}'),
      '__proto__',
      `no such setting; there are ${settings}`,
      { leaseTtlMs: 1 },
    ],
    [{ constructor: 5 }, 'constructor', `no such setting; there are ${settings}`, 5],
    [{ heartbeatIntervalMs: 30_000 }, 'heartbeatIntervalMs', 'less than leaseTtlMs, 30000', 30_000],
    [
      { leaseTtlMs: 5_000 },
      'heartbeatIntervalMs',
      'less than leaseTtlMs, 5000; the default does not fit, so set it',
      undefined,
    ],
    [{ presenceIntervalMs: 90_000 }, 'presenceIntervalMs', 'less than presenceTtlMs, 90000', 90_000],
    [
      { batchBackpressureThreshold: 1_001 },
      'batchBackpressureThreshold',
      'at most queueDepthLimit, 1000',
      1_001,
    ],
    [
      { queueDepthLimit: 499 },
      'batchBackpressureThreshold',
      'at most queueDepthLimit, 499; the default does not fit, so set it',
      undefined,
    ],
    [{ quotaConfig: 5 }, 'quotaConfig', 'an object with quotas', 5],
    [{ quotaConfig: { model: {} } }, 'quotaConfig.model', 'no such setting, did you mean models?', {}],
    [{ quotaConfig: { models: [] } }, 'quotaConfig.models', names, []],
    [{ quotaConfig: { models: null } }, 'quotaConfig.models', names, null],
    [{ quotaConfig: { models: 'big' } }, 'quotaConfig.models', names, 'big'],
    [{ quotaConfig: { labels: null } }, 'quotaConfig.labels', labelNames, null],
    [{ quotaConfig: { labels: { team: null } } }, 'quotaConfig.labels.team', names, null],
    [{ quotaConfig: { tools: { '': {} } } }, 'quotaConfig.tools[""]', names, {}],
    [
      { quotaConfig: { tools: JSON.parse('{"__proto__":{}}') } },
      'quotaConfig.tools',
      names,
      JSON.parse('{"__proto__":{}}'),
    ],
    [{ quotaConfig: { models: { 'gpt-4': 5 } } }, 'quotaConfig.models["gpt-4"]', 'an object with limits', 5],
    [
      { quotaConfig: { models: { a: { perWindow: -1 } } } },
      'quotaConfig.models.a.perWindow',
      'a whole number of tasks from 0 to 1000000000',
      -1,
    ],
    [
      { quotaConfig: { models: { a: { maxInflight: 1 } } } },
      'quotaConfig.models.a.maxInflight',
      'no such setting, did you mean maxInFlight?',
      1,
    ],
    [
      { quotaConfig: { models: { a: { onExceeded: 'wait' } } } },
      'quotaConfig.models.a.onExceeded',
      "'reject' or 'defer'",
      'wait',
    ],
    [
      { quotaConfig: { models: { a: { perWindow: 0, onExceeded: 'defer' } } } },
      'quotaConfig.models.a.perWindow',
      "1 or more if onExceeded is 'defer'",
      0,
    ],
    [{ quotaConfig: { windowMs: 0 } }, 'quotaConfig.windowMs', ms, 0],
    [{ quotaConfig: { client: {} } }, 'quotaConfig.client', 'no such setting, did you mean clients?', {}],
    [
      { quotaConfig: { clients: { ada: { maxInFlights: 1 } } } },
      'quotaConfig.clients.ada.maxInFlights',
      'no such setting, did you mean maxInFlight?',
      1,
    ],
    [{ quotaConfig: { labels: 3 } }, 'quotaConfig.labels', labelNames, 3],
    [{ quotaConfig: { labels: { '': {} } } }, 'quotaConfig.labels[""]', labelNames, {}],
    [{ quotaConfig: { labels: { team: 3 } } }, 'quotaConfig.labels.team', names, 3],
    [
      { quotaConfig: { labels: { team: { maxInFlight: 1 } } } },
      'quotaConfig.labels.team.maxInFlight',
      'an object with limits',
      1,
    ],
    [
      { quotaConfig: { labels: { team: { alpha: { perWindows: 1 } } } } },
      'quotaConfig.labels.team.alpha.perWindows',
      'no such setting, did you mean perWindow?',
      1,
    ],
    [
      { quotaConfig: { labels: { team: JSON.parse('{"__proto__":{}}') } } },
      'quotaConfig.labels.team',
      names,
      JSON.parse('{"__proto__":{}}'),
    ],
    [
      { quotaConfig: { defaults: { label: {} } } },
      'quotaConfig.defaults.label',
      'no such setting, did you mean labels?',
      {},
    ],
    [
      { quotaConfig: { defaults: { labels: { team: { tokensPerMinute: 1 } } } } },
      'quotaConfig.defaults.labels.team.tokensPerMinute',
      'no such setting, did you mean tokensPerWindow?',
      1,
    ],
    [
      { quotaConfig: { defaults: { models: {} } } },
      'quotaConfig.defaults.models',
      'no such setting, did you mean model?',
      {},
    ],
    [
      { quotaConfig: { defaults: { tool: { perwindow: 1 } } } },
      'quotaConfig.defaults.tool.perwindow',
      'no such setting, did you mean perWindow?',
      1,
    ],
  ])('%#: says what it refuses', (input, path, allowed, given) => {
    expect(problemsOf(input)).toStrictEqual([{ path, allowed, given }])
  })

  const shares =
    'tierPolicy, keying, placement, ledger, outOfCredits, startCredits, reputationBeta, exploration, dominant'
  const quotas = 'models, tools, clients, labels, defaults, windowMs'
  const limits = 'maxInFlight, perWindow, tokensPerWindow, onExceeded'
  test.each<[input: unknown, path: string, known: string]>([
    [{ shares: { anything: 5 } }, 'shares.anything', shares],
    [{ quotaConfig: { something: 5 } }, 'quotaConfig.something', quotas],
    [
      { quotaConfig: { defaults: { something: 5 } } },
      'quotaConfig.defaults.something',
      'model, tool, client, labels',
    ],
    [
      { quotaConfig: { defaults: { tool: { something: 5 } } } },
      'quotaConfig.defaults.tool.something',
      limits,
    ],
    [{ quotaConfig: { models: { m: { something: 5 } } } }, 'quotaConfig.models.m.something', limits],
  ])('%#: names what there is where nothing like what was given is', (input, path, known) => {
    expect(problemsOf(input)).toStrictEqual([
      { path, allowed: `no such setting; there are ${known}`, given: 5 },
    ])
  })

  test('11.10 dominant shares have capacities above 0 of known kinds, and places that are fixed at dispatch', () => {
    const given = (dominant: unknown, more: object = {}) => problemsOf({ shares: { dominant, ...more } })
    expect(given({ compute: 8, 'model:big': 100_000, 'tool:browser': 0.5 })).toEqual([])
    expect(given({ compute: 0 })).toMatchObject([
      { path: 'shares.dominant.compute', allowed: 'a capacity above 0, at most 1e12' },
    ])
    expect(given({ 'client:a': 1 })).toMatchObject([{ allowed: "'compute', 'model:NAME' or 'tool:NAME'" }])
    expect(given(5)).toMatchObject([{ path: 'shares.dominant', given: 5 }])
    expect(given({ compute: 1 }, { keying: 'enqueue' })).toMatchObject([
      { path: 'shares.keying', allowed: "'dispatch', because dominant shares change while a task is queued" },
    ])
  })

  test('names of quotas have 1 to 255 characters', () => {
    const named = (length: number) => problemsOf({ quotaConfig: { models: { ['m'.repeat(length)]: {} } } })
    expect([named(1), named(255)]).toEqual([[], []])
    expect(named(256)).toMatchObject([{ allowed: names }])
    const labelled = (length: number) => problemsOf({ quotaConfig: { labels: { ['l'.repeat(length)]: {} } } })
    expect([labelled(1), labelled(255)]).toEqual([[], []])
    expect(labelled(256)).toMatchObject([{ allowed: labelNames }])
  })

  test('a limit of 0 forbids where it rejects, and is refused by each name where it defers', () => {
    const none = { maxInFlight: 0, perWindow: 0, tokensPerWindow: 0 }
    expect(problemsOf({ quotaConfig: { tools: { t: { ...none, onExceeded: 'reject' } } } })).toEqual([])
    expect(
      problemsOf({ quotaConfig: { tools: { t: { ...none, onExceeded: 'defer' } } } }).map(({ path }) => path),
    ).toEqual([
      'quotaConfig.tools.t.maxInFlight',
      'quotaConfig.tools.t.perWindow',
      'quotaConfig.tools.t.tokensPerWindow',
    ])
    expect(problemsOf({ quotaConfig: { tools: { t: { maxInFlight: 1, onExceeded: 'defer' } } } })).toEqual([])
  })

  test('an unreadable record is refused as a whole', () => {
    const trap = {
      get leaseTtlMs() {
        throw new Error('no')
      },
    }
    expect(problemsOf(trap)).toEqual([
      { path: 'the configuration', allowed: 'settings that can be read', given: trap },
    ])
  })

  test('names every relation that does not hold, also those between a field and the default of another', () => {
    const wrong = { heartbeatIntervalMs: 30_000, presenceTtlMs: 30_000, queueDepthLimit: 499 }
    const relations = [
      { path: 'heartbeatIntervalMs', allowed: 'less than leaseTtlMs, 30000', given: 30_000 },
      {
        path: 'presenceIntervalMs',
        allowed: 'less than presenceTtlMs, 30000; the default does not fit, so set it',
        given: undefined,
      },
      {
        path: 'batchBackpressureThreshold',
        allowed: 'at most queueDepthLimit, 499; the default does not fit, so set it',
        given: undefined,
      },
    ]
    expect(problemsOf(wrong)).toEqual(relations)
    expect(problemsOf({ ...wrong, maxCrashes: 0 }).slice(1)).toEqual(relations)
    expect(problemsOf({ ...wrong, maxCrash: 1 }).slice(1)).toEqual(relations)
    // Limits of quotas have relations of their own.
    const none = { maxInFlight: 0, onExceeded: 'defer' }
    expect(problemsOf({ ...wrong, quotaConfig: { tools: { t: none } } }).slice(1)).toEqual(relations)
    const deferred = { quotaConfig: { models: { m: { perWindow: 0, onExceeded: 'defer' } } } }
    expect(problemsOf({ ...wrong, ...deferred }).slice(1)).toEqual(relations)
    const misnamed = { quotaConfig: { models: JSON.parse('{"__proto__":{}}') } }
    expect(problemsOf({ ...wrong, ...misnamed }).slice(1)).toEqual(relations)
    expect(problemsOf({ ...wrong, presenceTtlMs: 'x' }).map(({ path }) => path)).toEqual([
      'presenceTtlMs',
      'heartbeatIntervalMs',
      'batchBackpressureThreshold',
    ])
    expect(problemsOf({ ...wrong, presenceIntervalMs: 0 }).map(({ path }) => path)).toEqual([
      'presenceIntervalMs',
      'heartbeatIntervalMs',
      'batchBackpressureThreshold',
    ])
  })

  test('allows a queue whose threshold is its limit', () => {
    expect(problemsOf({ queueDepthLimit: 7, batchBackpressureThreshold: 7 })).toEqual([])
    expect(problemsOf({ queueDepthLimit: 7, batchBackpressureThreshold: 8 })).toHaveLength(1)
  })

  test('warns in words that name both settings', () => {
    expect(parseExecutionConfig({ heartbeatIntervalMs: 10_001 }).warnings).toEqual([
      {
        path: 'heartbeatIntervalMs',
        message:
          'heartbeatIntervalMs 10001 is more than a third of leaseTtlMs 30000: one late renewal may lose it',
      },
    ])
  })

  test('G11 names every bad field at once', () => {
    const problems = problemsOf({
      leaseTtlMs: 0,
      maxCrashes: 'x',
      preemptive: true,
      quotaConfig: { windowMs: -5 },
    })
    expect(problems.map(({ path }) => path).toSorted()).toStrictEqual([
      'leaseTtlMs',
      'maxCrashes',
      'preemptive',
      'quotaConfig.windowMs',
    ])
    const message = new ConfigError(problems).message
    expect(message).toContain(`leaseTtlMs: ${ms}; given 0`)
    expect(message).toContain('maxCrashes: a whole number of leases from 1 to 1000000000; given "x"')
  })

  test.each([
    [{ heartbeatIntervalMs: 10_000 }, []],
    [{ heartbeatIntervalMs: 10_001 }, ['heartbeatIntervalMs']],
    [{ heartbeatIntervalMs: 29_999 }, ['heartbeatIntervalMs']],
    [{ presenceTtlMs: 89_999 }, ['presenceIntervalMs']],
    [{ queueDepthLimit: 500 }, []],
  ])('%j gives the warnings %j', (input, paths) => {
    const { warnings } = parseExecutionConfig(input)
    expect(warnings.map(({ path }) => path)).toStrictEqual(paths)
    for (const { path, message } of warnings) expect(message).toContain(path)
  })

  test('B14 heartbeats that are no more frequent than the TTL are refused by name, and warned of above a third of it', () => {
    const heartbeats = (heartbeatIntervalMs: number) =>
      parseExecutionConfig({ leaseTtlMs: 9_000, heartbeatIntervalMs }).warnings.map(({ path }) => path)
    for (const refused of [9_000, 9_001])
      expect(() => heartbeats(refused)).toThrow(/heartbeatIntervalMs: less than leaseTtlMs, 9000; given 900/)
    expect([heartbeats(8_999), heartbeats(3_001), heartbeats(3_000)]).toEqual([
      ['heartbeatIntervalMs'],
      ['heartbeatIntervalMs'],
      [],
    ])
  })

  test('G03 pollutes nothing', () => {
    problemsOf(
      JSON.parse('{"__proto__":{"polluted":1},"quotaConfig":{"models":{"__proto__":{"polluted":1}}}}'),
    )
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})
