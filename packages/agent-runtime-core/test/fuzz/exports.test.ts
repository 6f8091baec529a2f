import { Script } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import * as core from '../../src/index.ts'
import * as schemas from '../../src/schemas.ts'
import { type Input, inputs } from './inputs.ts'
import { hostile, type Piece } from './pieces.ts'
import { wrongWith } from './told.ts'
import { givenTo, typed } from './typed.ts'

/** Other values by FUZZ_SEED, more of them by FUZZ_RUNS. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
const runs = Number(process.env['FUZZ_RUNS'] ?? draws(1, 6, 15))

type Callable = (...given: unknown[]) => unknown

/** Calls it for five seconds at most: nothing else ends what comes to no end. */
function within(call: () => unknown): unknown {
  const place = globalThis as { fuzzed?: () => unknown }
  place.fuzzed = call
  try {
    return bounded.runInThisContext({ timeout: 5_000 })
  } finally {
    delete place.fuzzed
  }
}

const bounded = new Script('fuzzed()')

/** Whoever changes it now throws. What cannot be looked at stays as it is. */
function frozen(given: unknown): unknown {
  const seen = new Set<unknown>()
  const left = [given]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value !== 'object' || value === null || seen.has(value)) continue
    seen.add(value)
    try {
      for (const part of Object.values(Object.freeze(value))) left.push(part)
    } catch {
      // A proxy, a getter that throws, or a typed array, which cannot be frozen.
    }
  }
  return given
}

const changes = /^Cannot (?:assign to read only|add property|delete property|redefine)|is not extensible/

/** An answer, which holds what it has to, or what was thrown; in time, and nothing of what was given was changed. */
function tried(
  call: Callable,
  given: readonly Piece[],
  holds: Callable = () => true,
): 'answered' | { readonly error: unknown } {
  const made = given.map(({ make }) => frozen(make()))
  let answer: unknown
  try {
    answer = within(() => call(...made))
  } catch (error) {
    const { code, message } = core.describeError(error)
    if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
      throw new Error('it does not end within five seconds', { cause: error })
    if (changes.test(message)) throw new Error(`it changes what it was given: ${message}`, { cause: error })
    return { error }
  }
  if (holds(answer, ...made) !== true) throw new Error(`its answer does not hold: ${core.show(answer)}`)
  return 'answered'
}

/** Tries a call as often as there are runs; tells how often it was answered. */
function play(
  name: string,
  given: fc.Arbitrary<readonly Piece[]>,
  numRuns: number,
  trial: (pieces: readonly Piece[]) => 'answered' | 'refused',
): number {
  let answered = 0
  fc.assert(
    fc.property(given, (pieces) => {
      try {
        if (trial(pieces) === 'answered') answered += 1
      } catch (error) {
        const call = `${name}(${pieces.map(({ text }) => text).join(', ')})`
        throw new Error(`${call}: ${(error as Error).message}`, { cause: error })
      }
    }),
    { seed, numRuns, endOnFailure: true },
  )
  return answered
}

const exported: Readonly<Record<string, unknown>> = { ...core, ...schemas }
const functions = Object.keys(exported).filter((name) => typeof exported[name] === 'function')
const parsers = Object.keys(schemas).filter((name) => typeof exported[name] !== 'function')

describe('any arguments for an export of the core (docs/reliability.md 3.7)', () => {
  test('every one that can be called is tried, as what users call or as what trusts its types', () => {
    expect([...Object.keys(inputs), ...typed].toSorted()).toEqual(functions.toSorted())
  })

  test.each(Object.entries(inputs))('%s answers, or says what is wrong', (name, it: Input) => {
    const answered = play(name, fc.tuple(...it.given), 6 * runs, (pieces) => {
      const outcome = tried(it.open as Callable, pieces, it.holds as Callable | undefined)
      if (outcome === 'answered') return outcome
      const wrong = wrongWith(outcome.error)
      if (wrong !== undefined) throw new Error(wrong)
      return 'refused'
    })
    // A few values may all be refused.
    expect(answered).toBeGreaterThan(draws(-1, 0))
  })

  test.each(typed)('%s, which trusts its types, ends and changes nothing', (name) => {
    const call = exported[name] as Callable
    const isClass = /^[A-Z]/.test(name)
    const make: Callable = isClass ? (...given) => Reflect.construct(call, given) as unknown : call
    const answered = play(name, givenTo(name, call.length), 4 * runs, (pieces) =>
      tried(make, pieces) === 'answered' ? 'answered' : 'refused',
    )
    // A few values may all be refused.
    expect(answered).toBeGreaterThan(draws(-1, 0))
  })

  test.each(parsers)('the schema %s says of all that can be looked at whether that is one', (name) => {
    const schema = exported[name] as { safeParse(given: unknown): unknown }
    const answered = play(name, fc.tuple(hostile), 3 * runs, (pieces) => {
      const outcome = tried((given) => schema.safeParse(given), pieces)
      if (outcome === 'answered') return outcome
      // What throws when it is looked at throws here, too.
      expect(core.isReadable(pieces[0]?.make())).toBe(false)
      return 'refused'
    })
    expect(answered).toBeGreaterThan(runs)
  })
})
