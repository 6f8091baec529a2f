import {
  approvalName,
  approvalTimeouts,
  childName,
  lanes,
  overlaps,
  rejectionPolicies,
  RESERVED,
} from '@ku0/agent-runtime-core'
import type { ModelRequest, ModelSettlement } from '@ku0/agent-runtime-core/testing'
import fc from 'fast-check'
import { AdvanceToLine, Answer, SpawnWithBudget, SubmitWithBudget } from './model-budgets.ts'
import { Spawn } from './model-children.ts'
import { Breach, FRAGILE } from './model-circuits.ts'
import type { Command } from './model-command.ts'
import {
  Advance,
  Cancel,
  Free,
  Hold,
  Leave,
  Register,
  Release,
  Settle,
  SettleAgain,
  Step,
  Submit,
} from './model-commands.ts'
import { Evaluate } from './model-evaluations.ts'
import { Refuse, SubmitNamed, Spend } from './model-quotas.ts'
import { PutSchedule, UseSchedule } from './model-schedules.ts'
import { FailStep, Intend, Resolve } from './model-verdicts.ts'
import { Diverge, Signal, Suspend, Unpark } from './model-waits.ts'

// What random lives are made of.

const which = fc.nat(21)
const value = fc.constantFrom('null', '1', '"x"', '{"$ku0":["undefined"]}')
const said = fc.constantFrom('{}', '{"by":"Ada","feedback":"no"}')
const delay = fc.constantFrom(0, 0, 0, 1, 250, 1_000)
const settlement = fc.oneof<fc.Arbitrary<ModelSettlement>[]>(
  fc.record({ as: fc.constant('completed' as const), value }),
  fc.record({
    as: fc.constant('failed' as const),
    value,
    kind: fc.constantFrom('error' as const, 'timeout' as const),
  }),
  fc.record({ as: fc.constant('retry' as const), value, delayMs: delay }),
)
const keys = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8']
const request = fc
  .tuple(fc.nat(keys.length - 1), fc.boolean(), fc.constantFrom(0, 1, 250, 1_000, 5_000), fc.boolean())
  .map(([n, isTimer, delayMs, hasPatience]): ModelRequest => {
    const wait = { key: keys[n] ?? '', position: n }
    if (isTimer) return { ...wait, kind: 'timer', delayMs }
    return {
      ...wait,
      kind: 'signal',
      name: n % 2 === 0 ? 'even' : 'odd',
      delayMs: hasPatience ? delayMs : undefined,
    }
  })
const childKeys = ['c1', 'c2', 'c3']
const childRequest = fc.nat(childKeys.length - 1).map((n): ModelRequest => {
  const name = childName(childKeys[n] ?? '')
  return { key: name, name, kind: 'child', position: 12 + n, delayMs: undefined }
})
/** A back-off is a timer of the runtime's own, which a rejection makes void as well. */
const backOff = fc.constantFrom(0, 250).map((delayMs): ModelRequest => ({
  key: `${RESERVED}retry/1/s1`,
  position: 8,
  kind: 'timer',
  delayMs,
}))
const approvals = ['a1', 'a2', 'a3']
const approval = fc
  .tuple(
    fc.nat(approvals.length - 1),
    fc.option(fc.constantFrom(0, 250, 1_000), { nil: undefined }),
    fc.record({
      asked: fc.constantFrom(true, true, true, false),
      maxRetries: fc.constantFrom(0, 1, 5, 5, 5),
      onReject: fc.constantFrom(...rejectionPolicies, 'rerun' as const),
      onTimeout: fc.constantFrom(...approvalTimeouts),
    }),
  )
  .map(([n, delayMs, terms]): ModelRequest => {
    const key = approvals[n] ?? ''
    return { key, position: 9 + n, kind: 'approval', name: approvalName(key), delayMs, approval: terms }
  })
const requests = fc.uniqueArray(fc.oneof(request, request, childRequest, backOff, approval, approval), {
  minLength: 1,
  maxLength: 3,
  selector: ({ key }) => key,
})
const names = fc.record(
  {
    model: fc.constantFrom('big', 'free'),
    tools: fc.constantFrom(['t'], ['u', 't']),
    client: fc.constantFrom('ada', 'bob'),
    labels: fc.constantFrom({ team: 'alpha' }, { team: 'beta' }, { run: '1' }),
  },
  { requiredKeys: [] },
)
const quotaKeys = fc.uniqueArray(
  fc.constantFrom('model:big', 'model:free', 'client:bob', 'label:run=1', 'tool:t', 'tool:none'),
  { minLength: 1, maxLength: 2 },
)
const often = (weight: number, arbitrary: fc.Arbitrary<Command>) =>
  Array.from({ length: weight }, () => arbitrary)
const commands = [
  ...often(
    4,
    fc
      .tuple(fc.constantFrom(...lanes), names, fc.constantFrom(0, 3, 8), fc.constantFrom(0, 0, 0, 250))
      .map((it) => new SubmitNamed(...it)),
  ),
  ...often(
    2,
    fc
      .tuple(which, fc.constantFrom('s1', 's2', 's3', 's4'), fc.constantFrom(1, 5, 9))
      .map((it) => new Spend(...it)),
  ),
  ...often(
    1,
    fc
      .tuple(which, quotaKeys, fc.constantFrom(0, 4), fc.constantFrom(true, false, false))
      .map((it) => new Refuse(...it)),
  ),
  ...often(
    5,
    fc
      .tuple(
        fc.constantFrom(...lanes),
        fc.constantFrom('a', 'b'),
        fc.constantFrom('1', '2'),
        fc.option(fc.constantFrom('k1', 'k2', 'k3'), { nil: undefined, freq: 3 }),
        delay,
      )
      .map((it) => new Submit(...it)),
  ),
  ...often(
    1,
    fc.tuple(fc.constantFrom(...lanes), fc.constantFrom('a', 'b')).map((it) => new Hold(...it)),
  ),
  ...often(
    2,
    fc
      .tuple(fc.integer({ min: 1, max: 3 }), fc.constantFrom(['*'], ['*'], ['a'], ['b']))
      .map((it) => new Register(...it)),
  ),
  ...often(
    4,
    which.map((it) => new Free(it)),
  ),
  ...often(
    4,
    fc
      .tuple(which, fc.constantFrom('s1', 's2', '\ud800'), value, fc.subarray(childKeys))
      .map((it) => new Step(...it)),
  ),
  ...often(
    4,
    fc
      .tuple(
        which,
        fc.constantFrom(...childKeys),
        fc.constantFrom('cancel' as const, 'cancel' as const, 'abandon' as const),
        fc.constantFrom(...lanes),
        fc.constantFrom('a', 'b'),
      )
      .map((it) => new Spawn(...it)),
  ),
  ...often(
    5,
    fc
      .tuple(which, fc.constantFrom('approved' as const, 'rejected' as const, 'rejected' as const), said)
      .map((it) => new Resolve(...it)),
  ),
  ...often(
    1,
    fc.tuple(which, fc.constantFrom('s1', 's2')).map((it) => new Intend(...it)),
  ),
  ...often(
    1,
    fc
      .tuple(
        which,
        fc.constantFrom('s1', 's2'),
        fc.constantFrom('error' as const, 'timeout' as const),
        fc.subarray(childKeys),
      )
      .map((it) => new FailStep(...it)),
  ),
  ...often(
    7,
    fc
      .tuple(which, requests, fc.boolean())
      .map(([n, asked, stay]) => new Suspend(n, asked, stay && n % 3 === 0)),
  ),
  ...often(
    3,
    fc.tuple(which, fc.constantFrom('even', 'odd', 'none'), value).map((it) => new Signal(...it)),
  ),
  ...often(
    3,
    fc.tuple(which, settlement).map((it) => new Settle(...it)),
  ),
  ...often(
    1,
    which.map((it) => new SettleAgain(it)),
  ),
  ...often(
    1,
    fc.tuple(which, fc.constantFrom('yielded' as const, 'drained' as const)).map((it) => new Release(...it)),
  ),
  ...often(
    1,
    which.map((it) => new Cancel(it)),
  ),
  ...often(
    1,
    which.map((it) => new Diverge(it)),
  ),
  ...often(
    2,
    which.map((it) => new Unpark(it)),
  ),
  ...often(
    3,
    fc
      .tuple(
        fc.constantFrom(1, 299, 300, 301, 999, 1_000, 1_001, 5_000),
        fc.constantFrom(undefined, -1, 0, 0, 1),
      )
      .map((it) => new Advance(...it)),
  ),
  ...often(
    2,
    fc
      .tuple(
        fc.constantFrom('p', 'q'),
        fc.constantFrom(250, 1_000),
        fc.constantFrom(...overlaps),
        fc.constantFrom('1', '2'),
      )
      .map((it) => new PutSchedule(...it)),
  ),
  ...often(
    4,
    fc
      .tuple(
        fc.constantFrom('p', 'q'),
        fc.constantFrom<UseSchedule['how'][]>(
          'fire',
          'fire',
          'fire',
          'fire',
          'trigger',
          'pause',
          'fire',
          'remove',
        ),
        fc.integer({ min: 1, max: 3 }),
        fc.constantFrom(0, 0, 0, 1),
      )
      .map((it) => new UseSchedule(...it)),
  ),
  ...often(
    2,
    fc
      .tuple(
        fc.constantFrom('ada', 'ada', 'ada', 'bob', 'eve'),
        fc.constantFrom(0, 0.5, 0.85, 1),
        fc.constantFrom(undefined, 'k1', 'k2'),
      )
      .map((it) => new Evaluate(...it)),
  ),
  ...often(
    1,
    fc.tuple(which, fc.constantFrom('drain' as const, 'remove' as const)).map((it) => new Leave(...it)),
  ),
]

/** Families that are sent back again and again: all of what that touches is rare among the rest. */
const rerun = fc
  .tuple(fc.nat(approvals.length - 1), fc.constantFrom(undefined, undefined, undefined, 250))
  .map(([n, delayMs]): ModelRequest => {
    const key = approvals[n] ?? ''
    const terms = {
      asked: true,
      maxRetries: 5,
      onReject: 'rerun',
      onTimeout: n === 0 ? 'fail' : 'reject',
    } as const
    return { key, position: 9 + n, kind: 'approval', name: approvalName(key), delayMs, approval: terms }
  })
const familyRequests = fc.uniqueArray(
  fc.oneof(request, backOff, childRequest, childRequest, rerun, rerun, rerun),
  {
    minLength: 1,
    maxLength: 3,
    selector: ({ key }) => key,
  },
)
/** Seldom one whose turn is over. */
const member = fc.nat(14)
const familyCommands = [
  fc.constantFrom(1, 2).map((capacity) => new Register(capacity, ['*'])),
  member.map((it) => new Cancel(it)),
  ...often(
    2,
    fc.constantFrom(...lanes).map((lane) => new Submit(lane, 'a', '1', undefined, 0)),
  ),
  ...often(
    6,
    member.map((it) => new Free(it)),
  ),
  ...often(
    5,
    fc
      .tuple(
        member,
        fc.constantFrom(...childKeys),
        fc.constantFrom('cancel' as const, 'cancel' as const, 'abandon' as const),
        fc.constant('interactive' as const),
        fc.constant('b'),
      )
      .map((it) => new Spawn(...it)),
  ),
  ...often(
    3,
    fc
      .tuple(member, fc.constantFrom('s1', 's2'), value, fc.subarray(childKeys, { maxLength: 1 }))
      .map((it) => new Step(...it)),
  ),
  ...often(
    1,
    fc.tuple(member, fc.constantFrom('s1', 's2')).map((it) => new Intend(...it)),
  ),
  ...often(
    5,
    fc.tuple(member, familyRequests, fc.boolean()).map((it) => new Suspend(...it)),
  ),
  ...often(
    5,
    fc
      .tuple(member, fc.constantFrom('approved' as const, 'rejected' as const, 'rejected' as const), said)
      .map((it) => new Resolve(...it)),
  ),
  ...often(
    2,
    fc.tuple(member, settlement).map((it) => new Settle(...it)),
  ),
  ...often(
    2,
    fc.tuple(member, fc.constantFrom('even', 'odd'), value).map((it) => new Signal(...it)),
  ),
  ...often(
    1,
    member.map((it) => new Diverge(it)),
  ),
  ...often(
    1,
    member.map((it) => new Unpark(it)),
  ),
  ...often(
    1,
    fc
      .tuple(fc.constantFrom(1, 300, 1_000), fc.constantFrom(undefined, 0, 1))
      .map((it) => new Advance(...it)),
  ),
]

/** Trees that spend: children draw on what their parents were given. */
const amount = fc.option(fc.constantFrom(1, 2, 3, 5, 9), { nil: undefined })
const terms = fc
  .tuple(
    amount,
    fc.option(fc.constantFrom(250, 1_000, 2_000), { nil: undefined, freq: 2 }),
    fc.option(fc.constantFrom(1, 2, 3), { nil: undefined, freq: 3 }),
    fc.boolean(),
  )
  .map(([steps = 4, wallMs, line = 9, asksForTime]) => ({
    limits: { steps, ...(wallMs === undefined ? {} : { wallMs }) },
    soft: {
      ...(line > steps ? {} : { steps: line }),
      ...(wallMs === undefined || !asksForTime ? {} : { wallMs: 200 }),
    },
  }))
const spendingCommands = [
  fc.constantFrom(2, 3).map((capacity) => new Register(capacity, ['*'])),
  member.map((it) => new Cancel(it)),
  ...often(
    3,
    terms.map((it) => new SubmitWithBudget(it)),
  ),
  ...often(
    7,
    member.map((it) => new Free(it)),
  ),
  ...often(
    6,
    fc
      .tuple(
        member,
        fc.constantFrom(...childKeys),
        fc.constantFrom('cancel' as const, 'cancel' as const, 'abandon' as const),
        fc.option(terms, { nil: undefined }),
      )
      .map((it) => new SpawnWithBudget(...it)),
  ),
  ...often(
    8,
    fc
      .tuple(
        member,
        fc.constantFrom('s1', 's2', 's3', 's4', 's5'),
        value,
        fc.subarray(childKeys, { maxLength: 1 }).map((all) => (all[0] === 'c1' ? all : [])),
      )
      .map((it) => new Step(...it)),
  ),
  ...often(
    4,
    member.map((it) => new Release(it, 'yielded')),
  ),
  ...often(
    5,
    fc
      .tuple(
        member,
        fc.constantFrom('continue' as const, 'continue' as const, 'stop' as const),
        fc.constantFrom(0, 1, 3),
      )
      .map((it) => new Answer(...it)),
  ),
  ...often(
    3,
    fc.tuple(member, familyRequests, fc.boolean()).map((it) => new Suspend(...it)),
  ),
  ...often(
    2,
    fc.tuple(member, settlement).map((it) => new Settle(...it)),
  ),
  fc.tuple(member, fc.constantFrom('even', 'odd'), value).map((it) => new Signal(...it)),
  fc
    .tuple(member, fc.constantFrom('approved' as const, 'rejected' as const), said)
    .map((it) => new Resolve(...it)),
  ...often(
    2,
    fc.constantFrom(-1, 0, 0, 1).map((edge) => new AdvanceToLine(edge)),
  ),
  fc.tuple(fc.constantFrom(1, 300, 1_000), fc.constantFrom(undefined, 0)).map((it) => new Advance(...it)),
]

const losingCommands = [
  fc.constantFrom(2, 3).map((capacity) => new Register(capacity, ['*'])),
  ...often(
    5,
    fc
      .tuple(fc.constantFrom(...lanes), fc.constantFrom('a', FRAGILE, FRAGILE), fc.constantFrom(0, 0, 0, 1))
      .map(([lane, type, delayMs]) => new Submit(lane, type, '1', undefined, delayMs)),
  ),
  ...often(
    8,
    which.map((it) => new Free(it)),
  ),
  ...often(
    3,
    fc.tuple(fc.constantFrom(1, 300, 1_000), fc.constantFrom(undefined, 0)).map((it) => new Advance(...it)),
  ),
  ...often(
    2,
    which.map((it) => new Breach(it)),
  ),
  ...often(
    2,
    fc.tuple(which, settlement).map((it) => new Settle(...it)),
  ),
  fc.tuple(which, requests, fc.boolean()).map((it) => new Suspend(...it)),
  which.map((it) => new Release(it, 'yielded')),
  which.map((it) => new Diverge(it)),
  which.map((it) => new Cancel(it)),
]

/** A life begins with a worker, so that there is something to lose. `more`: commands that both kinds of lives have. */
export const lifeOf = (more: readonly fc.Arbitrary<Command>[]) =>
  fc
    .oneof(
      { weight: 2, arbitrary: fc.commands([...commands, ...more], { maxCommands: 220, size: 'max' }) },
      { weight: 1, arbitrary: fc.commands([...familyCommands, ...more], { maxCommands: 120, size: 'max' }) },
    )
    .map((list) => [new Register(2, ['*']), ...list])

/** The same of trees that spend. */
export const spendingLifeOf = (more: readonly fc.Arbitrary<Command>[]) =>
  fc
    .commands([...spendingCommands, ...more], { maxCommands: 120, size: 'max' })
    .map((list) => [new Register(3, ['*']), ...list])

/** The same of tasks that are lost again and again, and of a type whose circuit opens. */
export const losingLifeOf = (more: readonly fc.Arbitrary<Command>[]) =>
  fc
    .commands([...losingCommands, ...more], { maxCommands: 120, size: 'max' })
    .map((list) => [new Register(3, ['*']), ...list])
