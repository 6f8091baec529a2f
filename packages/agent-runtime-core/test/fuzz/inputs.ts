import fc from 'fast-check'
import * as core from '../../src/index.ts'
import { parseExecutionConfig } from '../../src/schemas.ts'
import { guarded } from '../guarded.ts'
import { fields, hostile, listOf, mostly, type Piece, piece, values } from './pieces.ts'

/** A call and what it is given; `holds` says what its answer has to be. */
export interface Input {
  readonly given: readonly fc.Arbitrary<Piece>[]
  readonly open: (...given: never[]) => unknown
  readonly holds?: (answer: never, ...given: never[]) => boolean
}

/** As `fields`, now and then with a getter that throws under a name that is looked at. */
function orUnreadable(shape: Readonly<Record<string, fc.Arbitrary<Piece>>>): fc.Arbitrary<Piece> {
  const names = fc.constantFrom(...Object.keys(shape))
  const unreadable = names.map((name) => piece(`{ get ${name}() { throw } }`, () => guarded(name)))
  return fc.oneof({ weight: 9, arbitrary: fields(shape) }, { weight: 1, arbitrary: unreadable })
}

const text = mostly(values('a', 'step', 'a name'))
const number = mostly(values(0, 1, 100, 0.5, 2 ** 31))
const path = values('here')
const rules = values(null).map(() => piece('rules', () => ({ name: core.nameRule, ms: core.delayRule })))
const error = mostly(
  values(null).map(() => piece('an error', () => new Error('e', { cause: new TypeError('c') }))),
  values({ name: 'E', message: 'm', code: 'store_busy', cause: { name: 'F', message: 'n' } }),
)
const amounts = {
  tokens: number,
  money: number,
  cost: number,
  wallMs: number,
  steps: number,
  soft: mostly(values(0.5, { tokens: 1 })),
}
const usage = orUnreadable({ tokens: number, money: number, cost: number })
const scores = orUnreadable(
  Object.fromEntries(core.dimensions.map((name) => [name, mostly(values(0.5, 1, 0.2))])),
)
const details = orUnreadable({
  details: mostly(values({ a: 1 })),
  cause: hostile,
  message: text,
})
const config = orUnreadable({
  leaseTtlMs: mostly(values(30_000)),
  queueDepthLimit: number,
  maxCrashes: number,
  agingMs: number,
  shares: mostly(values({ placement: 'wfq' }, { tierPolicy: 'strict' })),
  quotaConfig: mostly(values({ models: { big: { maxInFlight: 2 } }, windowMs: 1000 })),
  profiles: hostile,
})

const isTold = (answer: unknown): boolean => typeof answer === 'boolean'
const tells = (given: readonly fc.Arbitrary<Piece>[], open: (...given: never[]) => unknown): Input => ({
  given,
  open,
  holds: isTold,
})

/** What takes values of whoever calls, or what was thrown: an answer, or an error of the house. */
export const inputs: Readonly<Record<string, Input>> = {
  agentState: {
    given: [
      mostly(
        values(
          { state: 'queued' },
          { state: 'running', checkpointed: true },
          { state: 'waiting', waitingFor: 'approval' },
          { state: 'gone' },
        ),
      ),
    ],
    open: core.agentState,
  },
  compareOversight: {
    given: [mostly(values(...core.oversightModes)), mostly(values(...core.oversightModes))],
    open: core.compareOversight,
    holds: (answer) => typeof answer === 'number',
  },
  parseExecutionConfig: { given: [config], open: parseExecutionConfig },
  readPlainConfig: { given: [config], open: core.readPlainConfig },
  encode: {
    given: [hostile],
    open: (value: never) => core.encode(value, { what: 'it' }),
    holds: (answer: string) => core.encode(core.decode(answer), { what: 'it' }) === answer,
  },
  decode: {
    given: [mostly(values('1', '{"$ku0":["Date",1]}', '{"$ku0":["Nope"]}', '['))],
    open: core.decode,
  },
  canonical: {
    given: [hostile],
    open: core.canonical,
    holds: (answer: string) => core.canonical(JSON.parse(answer)) === answer,
  },
  describeError: {
    given: [error],
    open: core.describeError,
    holds: (answer: never) => core.toRuntimeError(answer) instanceof core.RuntimeError,
  },
  rateLimitIn: { given: [error], open: core.rateLimitIn },
  httpLimitIn: { given: [error, number], open: core.httpLimitIn },
  show: { given: [hostile], open: core.show, holds: (answer: string) => answer.length <= 80 },
  textOf: { given: [hostile], open: core.textOf, holds: (answer) => typeof answer === 'string' },
  isReadable: tells([hostile], core.isReadable),
  isList: tells([hostile], core.isList),
  isA: tells([hostile], (value: never) => core.isA(value, Error)),
  hasMethods: tells([hostile], (value: never) => core.hasMethods(value, 'then', 'name')),
  isEnvironment: tells([hostile], core.isEnvironment),
  isErrorCode: tells([hostile], core.isErrorCode),
  isRecord: tells([hostile], core.isRecord),
  isName: tells([text], core.isName),
  isLane: tells([text], core.isLane),
  isAmount: tells([number], core.isAmount),
  isWithinOne: tells([number], core.isWithinOne),
  isEscalation: tells([text], core.isEscalation),
  categoriesOf: {
    given: [error],
    open: core.categoriesOf,
    holds: (answer: readonly core.FailureCategory[]) =>
      answer.length > 0 && answer.every((it) => core.failureCategories.includes(it)),
  },
  fits: tells([hostile, rules], core.fits),
  assertOptions: { given: [path, orUnreadable({ name: text, ms: number }), rules], open: core.assertOptions },
  assertIsOptions: { given: [path, hostile, rules], open: core.assertIsOptions },
  assertDelay: { given: [number], open: core.assertDelay },
  budgetProblems: { given: [path, orUnreadable(amounts)], open: core.budgetProblems, holds: Array.isArray },
  budgetTerms: { given: [path, orUnreadable(amounts)], open: core.budgetTerms },
  budgetRaise: { given: [path, orUnreadable(amounts)], open: core.budgetRaise },
  usageSum: { given: [path, usage], open: core.usageSum },
  readNormalised: { given: [scores, values({}, { strict: true })], open: core.readNormalised },
  readRaw: { given: [scores, values({}, { strict: true, maxRevisions: 3 })], open: core.readRaw },
  readWeights: { given: [scores], open: core.readWeights },
  RateLimited: {
    given: [
      orUnreadable({
        model: text,
        tool: text,
        client: text,
        labels: mostly(values({ a: 'b' })),
        retryAfterMs: number,
      }),
      details,
    ],
    open: (limit: never, options: never) => new core.RateLimited(limit, options),
  },
  RuntimeError: {
    given: [values('internal', 'invalid_argument'), text, details],
    open: (code: never, message: never, options: never) => new core.RuntimeError(code, message, options),
    holds: (it: core.RuntimeError) => typeof it.message === 'string' && Object.isFrozen(it.details),
  },
  NonRetryableError: {
    given: [text, details],
    open: (message: never, options: never) => new core.NonRetryableError(message, options),
  },
  EventBus: {
    given: [mostly(values('a', 'a.*', '*', 'a*b', '')), listOf(values('a', 'a.b', 'b'))],
    open: (pattern: never, types: readonly string[]) => {
      const bus = new core.EventBus({ onListenerError() {} })
      using _ = bus.subscribe(pattern, () => {})
      for (const type of Array.isArray(types) ? types : []) bus.publish({ type: String(type) })
    },
  },
}
