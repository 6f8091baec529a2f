import assert from 'node:assert/strict'
import { encode } from '@ku0/agent-runtime-core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fields,
  hostile,
  listOf,
  mostly,
  type Piece,
  piece,
  values,
} from '../../../agent-runtime-core/test/fuzz/pieces.ts'
import { draws } from '../../../../tools/draws.ts'
import { wrongWith } from '../../../agent-runtime-core/test/fuzz/told.ts'
import { defineTask, type Schema, type TaskContext } from '../../src/index.ts'
import { World } from './world.ts'

/** Other values by FUZZ_SEED, more of them by FUZZ_RUNS. */
const seed = Number(process.env['FUZZ_SEED'] ?? 2)
const runs = Number(process.env['FUZZ_RUNS'] ?? draws(1, 3, 6))

/** A call of a handler's context. */
interface Part {
  readonly given: readonly fc.Arbitrary<Piece>[]
  readonly open: (ctx: TaskContext, ...given: never[]) => unknown
  /** Whether the answer is what the last of what was given gives. */
  readonly echoes?: boolean
}

const key = mostly(values('a', 'b', 'c'))
const ms = mostly(values(0, 1))
const count = mostly(values(1, 2))
const usage = fields({ tokens: count, money: count, cost: count })
const timeoutMs = mostly(values(1, 1_000))
const gives = hostile.map(({ text, make }) => piece(`() => ${text}`, () => make))
const throwing = hostile.map(({ text, make }) =>
  piece(`() => throws ${text}`, () => () => {
    throw make()
  }),
)
const branch = mostly(gives, throwing)
const branches = fields({ left: branch, right: branch })
const stepOptions = fields({
  input: hostile,
  timeoutMs,
  retry: fields({ attempts: count, backoff: fields({ initialMs: ms, maxMs: ms }) }),
  inDoubt: mostly(values('retry', 'verify', 'fail')),
  verify: branch,
})
const spawnOptions = fields({
  lane: mostly(values('batch')),
  taskId: mostly(values('spawned')),
  labels: fields({ a: key }),
  model: key,
  tools: mostly(listOf(key)),
  timeoutMs,
  onParentEnd: mostly(values('cancel', 'abandon')),
  whenFull: mostly(values('wait', 'throw')),
})

/** By name, what a context can be asked. */
const parts: Readonly<Record<string, Part>> = {
  step: {
    given: [key, gives],
    open: (ctx, ...given: [never, never]) => ctx.step(...given),
    echoes: true,
  },
  'step that throws': {
    given: [key, throwing],
    open: (ctx, ...given: [never, never]) => ctx.step(...given),
  },
  'step with options': {
    given: [key, stepOptions, branch],
    open: (ctx, ...given: [never, never, never]) => ctx.step(...given),
  },
  sleep: { given: [key, ms], open: (ctx, ...given: [never, never]) => ctx.sleep(...given) },
  sleepUntil: {
    given: [key, mostly(values(0, 1), fc.constant(piece('the past', () => new Date(1))))],
    open: (ctx, ...given: [never, never]) => ctx.sleepUntil(...given),
  },
  waitForSignal: {
    given: [key, fields({ signal: key, timeoutMs })],
    open: (ctx, ...given: [never, never]) => ctx.waitForSignal(...given),
  },
  race: {
    given: [key, branches, fields({ timeoutMs })],
    open: (ctx, ...given: [never, never, never]) => ctx.race(...given),
  },
  all: {
    given: [key, branches, fields({ timeoutMs })],
    open: (ctx, ...given: [never, never, never]) => ctx.all(...given),
  },
  requestApproval: {
    given: [
      key,
      hostile,
      fields(
        {
          mode: mostly(values('supervised', 'spot_check', 'autonomous_escalation')),
          maxRetries: count,
          timeoutMs: mostly(values(1)),
          onReject: mostly(values('rerun', 'throw')),
          onTimeout: mostly(values('approve', 'reject', 'throw')),
        },
        'timeoutMs',
      ),
    ],
    open: (ctx, ...given: [never, unknown, never]) => ctx.requestApproval(...given),
  },
  patched: { given: [key], open: (ctx, id: never) => ctx.patched(id) },
  now: { given: [key], open: (ctx, name: never) => ctx.now(name) },
  random: { given: [key], open: (ctx, name: never) => ctx.random(name) },
  uuid: { given: [key], open: (ctx, name: never) => ctx.uuid(name) },
  spawn: {
    given: [key, mostly(values('echo', 'fails')), hostile, spawnOptions, fields({ timeoutMs })],
    open: async (ctx, name: never, task: never, input: unknown, options: never, wait: never) => {
      const child = await ctx.spawn(name, task, input, options)
      await child.cancel('enough')
      return child.result(wait)
    },
  },
  call: {
    given: [key, mostly(values('echo', 'fails')), hostile, spawnOptions],
    open: (ctx, ...given: [never, never, unknown, never]) => ctx.call(...given),
  },
  onCleanup: { given: [branch], open: (ctx, hook: never) => ctx.onCleanup(hook) },
  heartbeat: {
    given: [
      fields({
        progress: hostile,
        computeUs: count,
        memoryBytes: count,
        errorRate: count,
        saturation: count,
      }),
    ],
    open: (ctx, report: never) => ctx.heartbeat(report),
  },
  charge: { given: [usage], open: (ctx, it: never) => ctx.charge(it) },
  emit: { given: [hostile], open: (ctx, chunk: unknown) => ctx.emit(chunk) },
  checkpoint: { given: [hostile], open: (ctx, data: unknown) => ctx.checkpoint(data) },
  exec: {
    given: [
      mostly(values('true', 'no-such-command')),
      mostly(listOf(key)),
      fields({
        cwd: mostly(values('/', '/nowhere')),
        env: fields({ A: key }),
        input: key,
        timeoutMs: mostly(values(1_000)),
        killGraceMs: count,
        maxBufferBytes: count,
        stdio: mostly(values('pipe', 'ignore')),
        signal: hostile,
      }),
    ],
    open: (ctx, ...given: [never, never, never]) => ctx.exec(...given),
  },
  idempotencyKey: {
    given: [key, hostile],
    open: (ctx, ...given: [never, unknown]) => ctx.idempotencyKey(...given),
  },
  'log.info': {
    given: [hostile, hostile],
    open: (ctx, ...given: [never, never]) => ctx.log.info(...given),
  },
  ready: { given: [], open: (ctx) => ctx.ready() },
}

/** What a handler does, one call after the other, and how it ends. */
class Plan {
  readonly #calls: readonly (readonly [name: string, given: readonly Piece[]])[]
  readonly #end: Piece
  readonly #caught: boolean

  constructor(calls: Plan['calls'], end: Piece, caught: boolean) {
    this.#calls = calls
    this.#end = end
    this.#caught = caught
  }

  get calls(): readonly (readonly [name: string, given: readonly Piece[]])[] {
    return this.#calls
  }

  /** `tell` hears how each call went; a wrong is an error of the test. */
  async perform(
    ctx: TaskContext,
    tell: (outcome: 'answered' | 'refused', wrong?: string) => void,
  ): Promise<unknown> {
    for (const [name, pieces] of this.#calls) {
      const part = parts[name] as Part
      const given = pieces.map(({ make }) => make()) as never[]
      try {
        const answer = await part.open(ctx, ...given)
        if (part.echoes === true)
          assert.equal(textOf(answer), textOf((given.at(-1) as unknown as () => unknown)()))
        tell('answered')
      } catch (error) {
        tell('refused', ownThrow.has(name) || isOfSystem(error) ? undefined : wrongWith(error))
        if (!this.#caught) throw error
      }
    }
    return (this.#end.make() as () => unknown)()
  }

  [fc.toStringMethod](): string {
    const calls = this.#calls.map(([name, given]) => `${name}(${given.map(({ text }) => text).join(', ')})`)
    return `${[...calls, this.#end.text].join('; ')}${this.#caught ? '' : '; nothing caught'}`
  }
}

/** What a function of the handler's throws comes out as it was, as far as that can be kept. */
const ownThrow = new Set(['step that throws', 'step with options', 'race', 'all'])

/** A command that cannot be started: the system says why. */
function isOfSystem(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall?.startsWith('spawn') === true
}

const plan = fc
  .tuple(
    fc.array(
      fc.oneof(
        ...Object.entries(parts).map(([name, { given }]) =>
          fc.tuple(...given).map((made) => [name, made] as const),
        ),
      ),
      { minLength: 1, maxLength: 4 },
    ),
    fc.oneof(gives, gives, throwing),
    fc.boolean(),
  )
  .map((drawn) => new Plan(...drawn))

const any: Schema = { '~standard': { version: 1, vendor: 'fuzz', validate: (value) => ({ value }) } }

function textOf(value: unknown): string {
  return encode(value, { what: 'a value' })
}

describe('any handler, and any value that it gives or throws, leaves its task with an end or a wait (docs/reliability.md 3.7)', () => {
  test('calls of its context', { timeout: 120_000 }, async () => {
    const told = { answered: 0, refused: 0, completed: 0, failed: 0, waiting: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: 20, maxLength: 20 }), async (plans) => {
        const wrongs: string[] = []
        const task = defineTask({ type: 'does', input: any, retry: { attempts: 1 } }, (ctx, at) => {
          const it = plans[at as number] as Plan
          return it.perform(ctx, (outcome, wrong) => {
            told[outcome] += 1
            if (wrong !== undefined) wrongs.push(`${it[fc.toStringMethod]()}: ${wrong}`)
          })
        })
        await using world = await World.make({ tasks: [task] })
        await Promise.all(
          plans.map(async (it, at) => {
            const receipt = await world.runtime.submit(task, at)
            await world.runtime.result(receipt, { timeoutMs: 300 }).catch((error: unknown) => {
              const wrong = wrongWith(error)
              if (wrong !== undefined) wrongs.push(`${it[fc.toStringMethod]()}: its result: ${wrong}`)
            })
            const { state } = (await world.runtime.status(receipt)) ?? {}
            if (state === 'completed' || state === 'failed') told[state] += 1
            else {
              told.waiting += 1
              await world.runtime.cancel(receipt)
            }
          }),
        )
        assert.deepEqual(wrongs, [])
        await world.isWell()
      }),
      { seed, numRuns: runs, endOnFailure: true },
    )
    expect(Math.min(told.answered, told.refused, told.completed, told.failed)).toBeGreaterThan(runs)
  })
})
