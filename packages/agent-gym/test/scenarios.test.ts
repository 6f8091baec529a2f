import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { drawFaults } from '../src/scenario/drawn-faults.ts'
import { loadScenarios, parseScenario } from '../src/scenario/load.ts'
import { withProcesses } from '../src/scenario/more-processes.ts'
import { criteria, needsFile, type Scenario } from '../src/scenario/scenario.ts'
import { selectScenarios } from '../src/scenario/select.ts'
import { planTasks, tasksOfWave } from '../src/work/plan.ts'

const folder = resolve(import.meta.dirname, '../benchmarks/q4')
const all = loadScenarios(folder)
const one = (id: string) => {
  const found = all.find((scenario) => scenario.id === id)
  if (found === undefined) throw new Error(`no scenario ${id}`)
  return found
}

describe('the q4 scenarios', () => {
  it('are at least twelve easy ones, with medium and hard ones, all tagged', () => {
    const count = (difficulty: string) => all.filter((scenario) => scenario.difficulty === difficulty).length
    expect(count('easy')).toBeGreaterThanOrEqual(12)
    expect(count('medium')).toBeGreaterThan(0)
    expect(count('hard')).toBeGreaterThan(0)
    expect(all.map(({ category }) => category)).toEqual(all.map(() => 'execution-scale'))
  })

  it('measure each acceptance criterion in the easy suite', () => {
    const measured = all
      .filter(({ difficulty }) => difficulty === 'easy')
      .flatMap(({ acceptance }) => acceptance)
    expect(new Set(measured)).toEqual(new Set(criteria))
  })

  it('plan the same tasks for the same seed', () => {
    for (const scenario of all.filter(({ workload }) => workload.every(({ count }) => count <= 1000))) {
      expect(planTasks(scenario, 3)).toEqual(planTasks(scenario, 3))
    }
  })
})

describe('a scenario with more processes', () => {
  const named = ({ processes }: Scenario) => processes.map(({ name }) => name)

  it('starts the last that works more often, with workers of its own and its part of the drawn faults', () => {
    const three = withProcesses(one('crash-loop'), 3)
    expect(named(three)).toEqual(['front', 'main', 'main-2', 'main-3'])
    expect(three.processes.map(({ workers }) => workers?.count)).toEqual([undefined, 2, 2, 2])
    expect(three.faults).toMatchObject([{ do: 'draw', processes: ['main', 'main-2', 'main-3'] }])
    expect(needsFile(withProcesses(one('quota-tokens'), 2))).toBe(true)
  })

  it('stays as it is where it has as many', () => {
    expect(withProcesses(one('rolling-restart'), 3)).toBe(one('rolling-restart'))
    expect(all.map((scenario) => withProcesses(scenario, 1))).toEqual(all)
  })

  it('is one that can be read: its names are its own', () => {
    for (const scenario of all) {
      const more = withProcesses(scenario, 5)
      expect(new Set(named(more)).size).toBe(more.processes.length)
    }
  })
})

describe('a scenario file', () => {
  const text = (change: (scenario: Record<string, unknown>) => void) => {
    const data = JSON.parse(readFileSync(resolve(folder, 'lane-order.json'), 'utf8')) as Record<
      string,
      unknown
    >
    change(data)
    return JSON.stringify(data)
  }
  const complaint = (change: (scenario: Record<string, unknown>) => void) => {
    try {
      parseScenario(text(change), 'x.json')
    } catch (error) {
      return (error as Error).message
    }
    return 'none'
  }

  it.each<[string, (scenario: Record<string, unknown>) => void, string]>([
    [
      'an unknown measure',
      (s) => (s['expect'] = [{ measure: 'losst', equals: 0 }]),
      'expect.0.measure: no measure is named "losst"; did you mean "lost"?',
    ],
    [
      'an unknown setting of the runtime',
      (s) => (s['config'] = { leaseTTLMs: 1 }),
      'did you mean leaseTtlMs?',
    ],
    ['a setting out of bounds', (s) => (s['config'] = { leaseTtlMs: -1 }), 'leaseTtlMs'],
    ['an unknown field', (s) => (s['titel'] = 'x'), 'titel'],
    [
      'a group that never arrives',
      (s) => (s['arrivals'] = [{ how: 'bulk', groups: ['busy'] }]),
      'group "batch" never arrives',
    ],
    [
      'a process that is not there',
      (s) => (s['faults'] = [{ do: 'signal', process: 'mian', signal: 'SIGKILL' }]),
      'unknown process "mian"; there are main',
    ],
    [
      'a client that nobody named',
      (s) => {
        s['clients'] = [{ name: 'ada' }]
        s['workload'] = (s['workload'] as object[]).map((group) => ({ ...group, client: 'adda' }))
      },
      'workload.0.client: unknown client "adda"; there are ada',
    ],
    [
      'a route that no call is about',
      (s) => {
        s['faults'] = [{ do: 'call', by: ['main'], calls: [{ call: 'route', of: 'api', workMs: 1 }] }]
        s['expect'] = [{ measure: 'circuit', of: 'apo', equals: 'open' }]
      },
      'expect.0.of: unknown target "apo"; there are api',
    ],
    [
      'a label that the gym needs itself',
      (s) => {
        s['workload'] = (s['workload'] as object[]).map((group) => ({ ...group, labels: { n: '1' } }))
      },
      'workload.0.labels: `n` is the place of the task in the workload',
    ],
    [
      'two groups of one name',
      (s) => (s['workload'] as unknown[]).push((s['workload'] as unknown[])[0]),
      'two groups are named "busy"',
    ],
  ])('is refused for %s', (_, change, message) => {
    expect(complaint(change)).toContain('x.json')
    expect(complaint(change)).toContain(message)
  })

  it('is refused when it is not JSON, or not there', () => {
    expect(() => parseScenario('{', 'x.json')).toThrow('x.json: not JSON')
    expect(() => loadScenarios('/nowhere')).toThrow('--benchmarks: no such folder: /nowhere')
  })
})

describe('the choice of scenarios', () => {
  const choose = (selection: Partial<Parameters<typeof selectScenarios>[1]>) =>
    selectScenarios(all, {
      suite: 'easy',
      categories: [],
      only: [],
      trace: 'none',
      store: 'sqlite',
      ...selection,
    })
  const ids = (scenarios: readonly Scenario[]) => scenarios.map(({ id }) => id)

  it('goes by suite, category and id', () => {
    expect(choose({}).scenarios.every(({ difficulty }) => difficulty === 'easy')).toBe(true)
    expect(ids(choose({ suite: 'hard' }).scenarios)).toEqual([
      'chaos-10000',
      'credits-kills',
      'marketplace-100',
      'stream-kills-full',
      'supervised-storm-1000',
    ])
    expect(ids(choose({ suite: 'all', only: ['zombie'] }).scenarios)).toEqual(['zombie'])
    expect(choose({ suite: 'all', categories: ['execution-scale'] }).scenarios.length).toBeGreaterThan(20)
  })

  it('suggests a category', () => {
    expect(() => choose({ categories: ['execution-scal'] })).toThrow('did you mean "execution-scale"?')
  })

  it('replays a trace only when there is one, alone or with the suite', () => {
    expect(ids(choose({ suite: 'all' }).scenarios)).not.toContain('trace-replay')
    expect(ids(choose({ trace: 'alone' }).scenarios)).toEqual(['trace-replay', 'trace-shares'])
    expect(ids(choose({ trace: 'with the suite' }).scenarios)).toContain('trace-replay')
    expect(choose({ only: ['trace-replay'] }).skipped).toEqual([
      { id: 'trace-replay', why: 'it replays a trace: give it one with --trace FILE' },
    ])
  })

  it('leaves out what memory cannot do, and says so', () => {
    const { scenarios, skipped } = choose({ store: 'memory' })
    expect(scenarios.some(needsFile)).toBe(false)
    expect(skipped.map(({ id }) => id)).toContain('zombie')
    expect(ids(scenarios)).toContain('lane-order')
  })

  it('leaves out on PostgreSQL what is about a file, and says so', () => {
    const { scenarios, skipped } = choose({ suite: 'all', store: 'postgres' })
    expect(ids(scenarios)).toContain('zombie')
    expect(skipped.map(({ id }) => id).toSorted()).toEqual([
      'throughput-drain',
      'throughput-drain-full',
      'throughput-steps',
      'throughput-steps-full',
    ])
    expect(skipped[0]?.why).toContain('its bar on throughputPerSec is that of a SQLite file')
    const unsynced = { ...one('lane-order'), durability: 'normal' as const }
    const { skipped: refused } = selectScenarios([unsynced], {
      suite: 'easy',
      categories: [],
      only: [],
      trace: 'none',
      store: 'postgres',
    })
    expect(refused[0]?.why).toContain("durability 'normal' is for a file")
  })
})

describe('drawn faults', () => {
  const draw = one('chaos-10000').faults[0]
  if (draw?.do !== 'draw') throw new Error('chaos-10000 draws its faults')

  it('are the same for the same seed, and others for another', () => {
    expect(drawFaults(draw, 10_000, 1)).toEqual(drawFaults(draw, 10_000, 1))
    expect(drawFaults(draw, 10_000, 1)).not.toEqual(drawFaults(draw, 10_000, 2))
  })

  it('come over the course of passes where those are named', () => {
    const times = drawFaults({ ...draw, passes: 100 }, 10_000, 1).map(({ afterLeft }) => afterLeft)
    expect(Math.max(...times)).toBeLessThanOrEqual(80)
  })

  it('come in order, within the work, of every kind and to every process', () => {
    const faults = drawFaults(draw, 10_000, 1)
    const times = faults.map(({ afterLeft }) => afterLeft)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(Math.max(...times)).toBeLessThanOrEqual(8000)
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(draw.kinds))
    expect(new Set(faults.map(({ process }) => process))).toEqual(new Set(draw.processes))
  })
})

describe('a wave', () => {
  it('is shared evenly among its submitters, each task once', () => {
    const tasks = planTasks(one('backpressure-burst'), 1)
    const shares = [0, 1, 2].map((index) => tasksOfWave(tasks, ['burst'], { index, of: 3 }).map(({ n }) => n))
    expect(shares.map(({ length }) => length)).toEqual([200, 200, 200])
    expect(new Set(shares.flat()).size).toBe(600)
  })

  it('gives what carries one key one input', () => {
    const same = planTasks(one('one-key'), 1).filter(({ group }) => group === 'same')
    expect(new Set(same.map(({ input }) => JSON.stringify(input))).size).toBe(1)
  })
})
