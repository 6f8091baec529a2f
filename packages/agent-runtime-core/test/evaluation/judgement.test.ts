import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  averageWith,
  compositeOf,
  departureFrom,
  distanceBetween,
  nearestTo,
  readNormalised,
  readRaw,
  readWeights,
} from '../../src/evaluation/judgement.ts'
import { type Dimension, dimensions, domainWeights, type Scores } from '../../src/evaluation/evaluation.ts'
import { RuntimeError } from '../../src/error/errors.ts'

const of = (...values: readonly number[]) =>
  Object.fromEntries(dimensions.map((name, index) => [name, values[index] ?? 0])) as Record<Dimension, number>
/** The case studies of the scheduler paper, section 9. */
const cases = {
  web: of(0.87, 0.92, 0.78, 0.85, 0.95, 0.88),
  legal: of(0.91, 0.95, 0.65, 0.72, 0.88, 0.8),
  security: of(0.83, 0.89, 0.82, 0.79, 0.91, 0.85),
}
const score = fc.double({ min: 0, max: 1, noNaN: true })
const vector = fc.tuple(score, score, score, score, score, score).map((values): Scores => of(...values))
const thrownBy = (body: () => unknown): RuntimeError => {
  try {
    body()
  } catch (error) {
    if (error instanceof RuntimeError) return error
  }
  throw new Error('nothing was thrown')
}

describe('weights (docs/semantics.md 15.1)', () => {
  test('15.1 the four domains have the weights of the paper, and each sums to 1', () => {
    expect(domainWeights).toEqual({
      default: of(0.25, 0.2, 0.15, 0.15, 0.15, 0.1),
      legal: of(0.35, 0.25, 0.05, 0.1, 0.15, 0.1),
      security: of(0.3, 0.2, 0.1, 0.1, 0.2, 0.1),
      dashboard: of(0.2, 0.15, 0.25, 0.2, 0.1, 0.1),
    })
    for (const weights of Object.values(domainWeights)) expect(readWeights(weights)).toEqual(weights)
  })

  test('15.1 a dimension that is not given weighs nothing', () => {
    expect(readWeights({ quality: 0.5, speed: 0.5 })).toEqual(of(0.5, 0, 0.5))
  })

  test('15.1 the sum may be off by 1e-9', () => {
    expect(readWeights({ quality: 1 + 0.9e-9 }).quality).toBe(1 + 0.9e-9)
    expect(() => readWeights({ quality: 1 + 1.1e-9 })).toThrow(RuntimeError)
    expect(() => readWeights({ quality: 1 - 1.1e-9 })).toThrow(RuntimeError)
  })

  test('15.1 a sum that is not 1 is refused by name', () => {
    const { code, message, details } = thrownBy(() => readWeights({ quality: 0.5, cost: 0.25 }))
    expect([code, message]).toEqual([
      'invalid_argument',
      'weights: weights that sum to 1; the given ones sum to 0.75',
    ])
    expect(details).toEqual({ sum: 0.75 })
  })

  test.each<[what: string, given: unknown, message: string]>([
    ['a negative one', { quality: 1.5, cost: -0.5 }, 'weights.cost: a finite number, 0 or more; given -0.5'],
    ['none', { quality: Number.NaN }, 'weights.quality: a finite number, 0 or more; given NaN'],
    ['a text', { quality: '1' }, 'weights.quality: a finite number, 0 or more; given "1"'],
    ['a slip', { qualty: 1 }, 'weights.qualty: no such dimension, did you mean quality?'],
    [
      'another name',
      { mood: 1 },
      'weights.mood: no such dimension; there are quality, adherence, speed, cost, errors, revisions',
    ],
    ['a list', [1], 'weights: an object with quality, adherence, speed, cost, errors, revisions; given [1]'],
    [
      'nothing',
      null,
      'weights: an object with quality, adherence, speed, cost, errors, revisions; given null',
    ],
  ])('15.1 %s is refused', (_, given, message) => {
    expect(thrownBy(() => readWeights(given))).toMatchObject({ code: 'invalid_argument', message })
  })
})

describe('composites (docs/semantics.md 15.2, C15)', () => {
  test.each<[name: keyof typeof cases, domain: keyof typeof domainWeights, composite: number]>([
    ['web', 'default', 0.8765],
    ['legal', 'legal', 0.8725],
    ['legal', 'default', 0.835],
    ['security', 'default', 0.8485],
    ['security', 'security', 0.855],
  ])('15.2 %s with the weights of %s is %d', (name, domain, composite) => {
    const { scores } = readNormalised(cases[name], { strict: true })
    expect(compositeOf(scores, domainWeights[domain])).toBeCloseTo(composite, 12)
  })

  test.each<[name: keyof typeof cases, composite: number]>([
    ['web', 0.6655],
    ['legal', 0.661],
    ['security', 0.6555],
  ])(
    'C15 %s fed to the raw entry point is %d: its errors and revisions are inverted twice',
    (name, composite) => {
      const { scores } = readRaw(cases[name])
      expect(compositeOf(scores, domainWeights.default)).toBeCloseTo(composite, 12)
    },
  )

  test('C15 raw measures inverted beforehand and the same measured give the same', () => {
    const { errors, revisions, ...rest } = cases.web
    const raw = readRaw({ ...rest, errors: 1 - errors, revisions: 1 - revisions }).scores
    expect(compositeOf(raw, domainWeights.default)).toBeCloseTo(0.8765, 12)
  })

  test('C15 revisions count against maxRevisions', () => {
    const revisionsOf = (revisions: number) => readRaw({ revisions }, { maxRevisions: 4 }).scores.revisions
    expect([0, 1, 4, 9].map(revisionsOf)).toEqual([1, 0.75, 0, 0])
    expect(readRaw(of(0.8, 0.7, 0.6, 0.5, 0.25, 1), { maxRevisions: 4 }).scores).toEqual(
      of(0.8, 0.7, 0.6, 0.5, 0.75, 0.75),
    )
  })

  test('15.2 a composite is 0 to 1, whatever the weights', () => {
    fc.assert(
      fc.property(vector, fc.array(fc.nat(1_000), { minLength: 6, maxLength: 6 }), (scores, parts) => {
        fc.pre(parts.some((part) => part > 0))
        const total = parts.reduce((sum, part) => sum + part, 0)
        const weights = readWeights(of(...parts.map((part) => part / total)))
        const composite = compositeOf(scores, weights)
        expect(composite).toBeGreaterThanOrEqual(0)
        expect(composite).toBeLessThanOrEqual(1)
      }),
    )
  })
})

describe('reading scores (docs/semantics.md 15.4)', () => {
  test('15.4 they are clamped to 0 to 1, before they are inverted', () => {
    expect(readNormalised(of(1.5, -0.5, 1, 0, -0, 2)).scores).toEqual(of(1, 0, 1, 0, 0, 1))
    expect(readRaw(of(1.5, -0.5, 1, 0, -3, 2)).scores).toEqual(of(1, 0, 1, 0, 1, 0))
  })

  test('15.4 a missing dimension is listed, and counts as nothing measured', () => {
    const given = { quality: 0.9, cost: 0.5 }
    const missing = ['adherence', 'speed', 'errors', 'revisions']
    expect(readNormalised(given)).toEqual({ scores: of(0.9, 0, 0, 0.5), missing })
    expect(readRaw(given)).toEqual({ scores: of(0.9, 0, 0, 0.5, 1, 1), missing })
  })

  test('15.4 strict throws, naming all that is missing or out of bounds', () => {
    const { code, message } = thrownBy(() =>
      readRaw({ ...cases.web, cost: undefined, errors: 1.5 }, { strict: true }),
    )
    expect(code).toBe('invalid_argument')
    expect(message.split('\n')).toEqual([
      'scores.cost: a number from 0 to 1; not given',
      'scores.errors: a number from 0 to 1; given 1.5',
    ])
    expect(() => readNormalised({ ...cases.web, speed: -0.1 }, { strict: true })).toThrow('scores.speed')
    expect(() => readNormalised({ ...cases.web, speed: 1.1 }, { strict: true })).toThrow(
      'scores.speed: a number from 0 to 1; given 1.1',
    )
    expect(readNormalised(of(0, 1, 0, 1, 0, 1), { strict: true }).scores).toEqual(of(0, 1, 0, 1, 0, 1))
    expect(readRaw({ ...cases.web, revisions: 3 }, { strict: true, maxRevisions: 3 }).scores.revisions).toBe(
      0,
    )
  })

  test.each<[what: string, given: unknown, message: string]>([
    ['a slip', { qualty: 1 }, 'scores.qualty: no such dimension, did you mean quality?'],
    ['no number', { quality: Number.NaN }, 'scores.quality: a finite number; given NaN'],
    ['one without end', { cost: Number.POSITIVE_INFINITY }, 'scores.cost: a finite number; given Infinity'],
    ['null', { cost: null }, 'scores.cost: a finite number; given null'],
    ['nothing', {}, 'scores: at least one of quality, adherence, speed, cost, errors, revisions; none given'],
    ['a number', 0.8, 'scores: an object with quality, adherence, speed, cost, errors, revisions; given 0.8'],
  ])('15.4 %s is refused by both entry points', (_, given, message) => {
    for (const read of [readNormalised, readRaw])
      expect(thrownBy(() => read(given))).toMatchObject({ code: 'invalid_argument', message })
  })
})

describe('distances (docs/semantics.md 15.3)', () => {
  test.each<[a: keyof typeof cases, b: keyof typeof cases, distance: number]>([
    ['web', 'legal', 0.083815],
    ['web', 'security', 0.04111],
    ['legal', 'security', 0.088176],
  ])('15.3 from %s to %s it is %d', (a, b, distance) => {
    expect(distanceBetween(cases[a], cases[b], domainWeights.default)).toBeCloseTo(distance, 6)
    expect(distanceBetween(cases[b], cases[a], domainWeights.default)).toBeCloseTo(distance, 6)
  })

  test('15.3 it is a distance: 0 to itself, the same both ways, no longer than a detour', () => {
    const between = (a: Scores, b: Scores) => distanceBetween(a, b, domainWeights.security)
    fc.assert(
      fc.property(vector, vector, vector, (a, b, c) => {
        expect(between(a, a)).toBe(0)
        expect(between(a, b)).toBe(between(b, a))
        expect(between(a, c)).toBeLessThanOrEqual(between(a, b) + between(b, c) + 1e-12)
      }),
    )
  })

  test('15.3 the nearest come first, of equals by id, and no more than asked for', () => {
    const agents = [
      { agentId: 'far', average: of(0, 0, 0, 0, 0, 0) },
      { agentId: 'b', average: of(0.8, 0.9, 0.8, 0.8, 0.9, 0.9) },
      { agentId: 'a', average: of(0.8, 0.9, 0.8, 0.8, 0.9, 0.9) },
      { agentId: 'itself', average: cases.web },
    ]
    const ids = (limit: number) =>
      nearestTo(cases.web, agents, domainWeights.default, limit).map(({ agentId }) => agentId)
    expect(ids(10)).toEqual(['itself', 'a', 'b', 'far'])
    expect(ids(2)).toEqual(['itself', 'a'])
    expect(nearestTo(cases.web, agents, domainWeights.default, 1)[0]?.distance).toBe(0)
  })

  test.each<readonly string[]>([
    ['a', 'b', 'c', 'near', 'far'],
    ['far', 'near', 'c', 'b', 'a'],
    ['near', 'far', 'b', 'c', 'a'],
  ])('15.3 any order of evaluations gives the same: %s, %s, %s, %s, %s', (...order) => {
    const agents = order.map((agentId) => ({
      agentId,
      average: of({ near: 0.9, far: 0 }[agentId] ?? 0.5),
    }))
    const ids = (limit: number) =>
      nearestTo(of(1), agents, readWeights({ quality: 1 }), limit).map(({ agentId }) => agentId)
    expect([1, 2, 3, 4, 5].map(ids)).toEqual([
      ['near'],
      ['near', 'a'],
      ['near', 'a', 'b'],
      ['near', 'a', 'b', 'c'],
      ['near', 'a', 'b', 'c', 'far'],
    ])
  })

  test('15.3 the weights say what nearness is', () => {
    const agents = [
      { agentId: 'fast', average: of(0.1, 0, 0.9) },
      { agentId: 'good', average: of(0.9, 0, 0.1) },
    ]
    const target = of(0.9, 0, 0.9)
    const first = (weights: object) => nearestTo(target, agents, readWeights(weights), 1)[0]?.agentId
    expect(first({ speed: 1 })).toBe('fast')
    expect(first({ quality: 1 })).toBe('good')
  })

  test('15.3 the average is the mean of all, and a departure from it says which way', () => {
    fc.assert(
      fc.property(fc.array(vector, { minLength: 1, maxLength: 50 }), (vectors) => {
        const [first, ...rest] = vectors as [Scores, ...Scores[]]
        const average = rest.reduce((mean, scores, index) => averageWith(mean, index + 1, scores), first)
        for (const dimension of dimensions) {
          const sum = vectors.reduce((total, scores) => total + scores[dimension], 0)
          expect(average[dimension]).toBeCloseTo(sum / vectors.length, 10)
        }
      }),
    )
    const worse = departureFrom(cases.web, of(0, 0, 0, 0, 0, 0), domainWeights.default)
    expect(worse.change).toBeCloseTo(-0.8765, 12)
    const same = departureFrom(cases.web, cases.web, domainWeights.default)
    expect(same).toEqual({ distance: 0, change: 0 })
  })
})
