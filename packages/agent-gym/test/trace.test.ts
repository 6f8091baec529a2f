import { expect, it } from 'vitest'
import { planTasks } from '../src/work/plan.ts'
import { parseTrace, readTrace } from '../src/work/trace.ts'
import { parseScenario } from '../src/scenario/load.ts'

const header = 'TIMESTAMP,ContextTokens,GeneratedTokens'

it('reads arrivals after the first, in order of time', () => {
  const text = `${header}\r\n2023-11-16 18:17:04.0319600,3180,8\r\n2023-11-16 18:17:03.9799600,4808,10\r\n`
  const requests = parseTrace(text, 't.csv')
  expect(requests.map(({ contextTokens, generatedTokens }) => [contextTokens, generatedTokens])).toEqual([
    [4808, 10],
    [3180, 8],
  ])
  expect(requests[0]?.afterMs).toBe(0)
  expect(requests[1]?.afterMs).toBeCloseTo(52, 3)
})

it('takes columns in any order, and passes others over', () => {
  expect(
    parseTrace('GeneratedTokens,model,TIMESTAMP,ContextTokens\n7,x,2024-01-01T00:00:00Z,5\n', 't.csv'),
  ).toEqual([{ afterMs: 0, contextTokens: 5, generatedTokens: 7 }])
})

it.each([
  ['TIMESTAMP,Tokens\n', 'has no column ContextTokens, GeneratedTokens'],
  [`${header}\n`, 'has no requests'],
  [`${header}\n2023-11-16 18:17:03,1,2\nnever,1,2\n`, 't.csv:3: TIMESTAMP is no time: "never"'],
  [`${header}\n2023-11-16 18:17:03,many,2\n`, 't.csv:2: a number of tokens is a whole number, not "many"'],
  [`${header}\n2023-11-16 18:17:03,1\n`, 't.csv:2: a number of tokens is a whole number, not ""'],
])('says what is wrong and where: %j', (text, message) => {
  expect(() => parseTrace(text, 't.csv')).toThrow(message)
})

it('says when there is no such file', () => {
  expect(() => readTrace('/nowhere/t.csv')).toThrow('--trace: cannot read /nowhere/t.csv')
})

const scenarioOf = (arrival: object) =>
  parseScenario(
    JSON.stringify({
      id: 'trace',
      title: 'a trace',
      about: 'a trace',
      category: 'execution-scale',
      difficulty: 'easy',
      processes: [{ name: 'main', workers: { count: 1, capacity: 1 } }],
      workload: [
        { name: 'requests', count: 1, client: ['a', 'b'], work: { type: 'replay-request', msPerToken: 10 } },
      ],
      clients: [{ name: 'a' }, { name: 'b' }],
      config: { shares: {} },
      arrivals: [{ how: 'trace', groups: ['requests'], ...arrival }],
      expect: [{ measure: 'lost', equals: 0 }],
      figure: { measure: 'lost', label: 'lost' },
    }),
    'trace.json',
  )
const requests = [
  { afterMs: 0, contextTokens: 10, generatedTokens: 4 },
  { afterMs: 500, contextTokens: 20, generatedTokens: 8 },
]

it('becomes one task a request, sooner and shorter by the speed-up', () => {
  const tasks = planTasks(scenarioOf({}), 1, { requests, speedup: 5 })
  expect(tasks.map(({ afterMs }) => afterMs)).toEqual([0, 100])
  expect(tasks[1]?.input).toMatchObject({ contextBytes: 80, generatedTokens: 8, generateMs: 16 })
})

it('is played round after round, with rows numbered on', () => {
  const three = [...requests, { afterMs: 999, contextTokens: 1, generatedTokens: 1 }]
  const tasks = planTasks(scenarioOf({ rounds: 2 }), 1, { requests: three, speedup: 5 })
  expect(tasks.map(({ afterMs }) => afterMs)).toEqual([0, 100, 199.8, 200, 300, 399.8])
  expect(tasks.map(({ options }) => options.client)).toEqual(['a', 'b', 'a', 'b', 'a', 'b'])
})
