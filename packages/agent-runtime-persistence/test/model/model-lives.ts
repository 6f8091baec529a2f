import {
  approvalName,
  approvalTimeouts,
  childName,
  lanes,
  overlaps,
  rejectionPolicies,
  RESERVED,
} from '@ku0/agent-runtime-core'
import type { ModelRequest, ModelSettlement } from '@ku0/agent-runtime-conformance'
import fc from 'fast-check'
import { AdvanceToLine, Answer, SpawnWithBudget, SubmitWithBudget } from './model-budgets.ts'
import { EndChild, Spawn } from './model-children.ts'
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
import { Fork } from './model-forks.ts'
import { Refuse, SubmitNamed, Spend } from './model-quotas.ts'
import { PutSchedule, UseSchedule } from './model-schedules.ts'
import { Charge, RemoveClient, SetClient, SubmitFor } from './model-shares.ts'
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
  // A handler that says which wait it failed of.
  fc.record({
    as: fc.constant('failed' as const),
    value,
    kind: fc.constant('error' as const),
    waits: fc.subarray(['w1', 'w2', 'w5', 'a1', 'a2'], { minLength: 1 }),
  }),
  fc.record({ as: fc.constant('retry' as const), value, delayMs: delay }),
)
const keys = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8']
const waitAt = (n: number) => ({ key: keys[n] ?? '', position: n })
const request = fc
  .tuple(fc.nat(keys.length - 1), fc.boolean(), fc.constantFrom(0, 1, 250, 1_000, 5_000), fc.boolean())
  .map(([n, isTimer, delayMs, hasPatience]): ModelRequest => {
    const wait = waitAt(n)
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
const fork = fc.record({
  from: fc.oneof(fc.constant(undefined), fc.nat(9)),
  edits: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.tuple(fc.nat(9), value), { minLength: 1, maxLength: 2 }) },
  ),
  onlyOver: fc.constantFrom(true, false, false),
  change: fc.oneof(
    { weight: 2, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: fc.record(
        {
          key: fc.constantFrom('k1', 'k4'),
          taskId: fc.constant('mine'),
          input: fc.constantFrom('1', '3'),
          lane: fc.constantFrom(...lanes),
        },
        { requiredKeys: [] },
      ),
    },
  ),
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
    fc.tuple(which, fork).map((it) => new Fork(...it)),
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
    fc.tuple(member, fork).map((it) => new Fork(...it)),
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

/** Tasks that have done something, and are forked again and again. */
const stepKey = fc.constantFrom('s1', 's2', 's3', 's4')
/** One that nobody will answer in time. */
const late = fc.nat(3).map((n): ModelRequest => ({ ...waitAt(n), kind: 'signal', name: 'late', delayMs: 0 }))
/** Approvals that nobody is asked for, and rejections that come by themselves. */
const verdictAt = (n: number, asked: boolean): ModelRequest => {
  const key = approvals[n] ?? ''
  const terms = { asked, maxRetries: 5, onReject: 'rerun', onTimeout: 'reject' } as const
  return { key, position: n, kind: 'approval', name: approvalName(key), delayMs: 0, approval: terms }
}
const settled = fc.constantFrom(verdictAt(0, false), verdictAt(1, true), verdictAt(2, true))
const forkingRequests = fc.oneof(request, late, late, backOff, rerun, settled, settled).map((it) => [it])
const forkingCommands = [
  ...often(
    2,
    fc.constantFrom(1, 2, 3).map((capacity) => new Register(capacity, ['*'])),
  ),
  ...often(
    4,
    fc
      .constantFrom('interactive' as const, 'normal' as const)
      .map((lane) => new Submit(lane, 'a', '1', undefined, 0)),
  ),
  ...often(
    8,
    member.map((it) => new Free(it)),
  ),
  ...often(
    8,
    fc.tuple(member, stepKey, value).map(([n, key, result]) => new Step(n, key, result, [])),
  ),
  ...often(
    4,
    fc.tuple(member, stepKey).map((it) => new Intend(...it)),
  ),
  fc
    .tuple(member, stepKey, fc.constantFrom('error' as const, 'timeout' as const))
    .map((it) => new FailStep(...it, [])),
  ...often(
    4,
    fc
      .tuple(member, fc.constantFrom(...childKeys))
      .map((it) => new Spawn(...it, 'cancel', 'interactive', 'b')),
  ),
  ...often(
    6,
    fc.tuple(member, forkingRequests, fc.boolean()).map((it) => new Suspend(...it)),
  ),
  ...often(
    4,
    fc
      .tuple(member, fc.constantFrom('approved' as const, 'rejected' as const, 'rejected' as const), said)
      .map((it) => new Resolve(...it)),
  ),
  ...often(
    3,
    member.map((it) => new EndChild(it)),
  ),
  ...often(
    4,
    fc.tuple(member, settlement).map((it) => new Settle(...it)),
  ),
  ...often(
    9,
    fc.tuple(member, fork).map((it) => new Fork(...it)),
  ),
  fc.tuple(member, fc.constantFrom('even', 'odd'), value).map((it) => new Signal(...it)),
  member.map((it) => new Cancel(it)),
  member.map((it) => new Diverge(it)),
  ...often(
    3,
    fc.tuple(fc.constantFrom(1, 300), fc.constantFrom(undefined, 0, 0)).map((it) => new Advance(...it)),
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
  fc.tuple(member, fork).map((it) => new Fork(...it)),
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

/** Clients that share a slot or two. */
const client = fc.constantFrom('', 'ada', 'bob', 'eve')
const sharingCommands = [
  fc.constantFrom(1, 2).map((capacity) => new Register(capacity, ['*'])),
  ...often(
    9,
    fc
      .tuple(
        client,
        fc.constantFrom('normal' as const, 'normal' as const, 'normal' as const, ...lanes),
        fc.constantFrom('a', 'a', 'a', 'b'),
        fc.constantFrom(0, 0.5, 1, 1, 7),
        fc.constantFrom(0, 0, 0, 0, 250),
      )
      .map((it) => new SubmitFor(...it)),
  ),
  ...often(
    2,
    fc
      .tuple(
        client,
        fc.record(
          {
            credits: fc.constantFrom(0.5, 2, 500, 4_000),
            tier: fc.constantFrom('contracted' as const, 'marketplace' as const),
          },
          { requiredKeys: [] },
        ),
      )
      .map((it) => new SetClient(...it)),
  ),
  client.map((name) => new RemoveClient(name)),
  ...often(
    6,
    member.map((it) => new Free(it)),
  ),
  ...often(
    14,
    fc
      .tuple(member, fc.constantFrom('s1', undefined, undefined, undefined), fc.constantFrom(0, 0.25, 30))
      .map((it) => new Charge(...it)),
  ),
  ...often(
    3,
    fc.tuple(member, settlement).map((it) => new Settle(...it)),
  ),
  ...often(
    2,
    fc.tuple(member, requests, fc.boolean()).map((it) => new Suspend(...it)),
  ),
  ...often(
    2,
    fc.tuple(member, fc.constantFrom('even', 'odd'), value).map((it) => new Signal(...it)),
  ),
  ...often(
    2,
    fc.constantFrom('yielded' as const, 'drained' as const).map((reason) => new Release(0, reason)),
  ),
  fc.tuple(member, fork).map((it) => new Fork(...it)),
  fc.tuple(member, fc.constantFrom(...childKeys)).map((it) => new Spawn(...it, 'cancel', 'interactive', 'b')),
  fc.constantFrom(...lanes).map((lane) => new Hold(lane, 'a')),
  ...often(
    2,
    which.map((it) => new Cancel(it)),
  ),
  which.map((it) => new Diverge(it)),
  which.map((it) => new Unpark(it)),
  fc.tuple(which, fc.constantFrom('drain' as const, 'remove' as const)).map((it) => new Leave(...it)),
  ...often(
    3,
    fc
      .tuple(fc.constantFrom(1, 400, 900), fc.constantFrom(undefined, undefined, 0))
      .map((it) => new Advance(...it)),
  ),
]

/** A life begins with a worker, so that there is something to lose. `more`: commands that all kinds of lives have. */
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

/** The same of tasks that are forked again and again. */
export const forkingLifeOf = (more: readonly fc.Arbitrary<Command>[]) =>
  fc
    .commands([...forkingCommands, ...more], { maxCommands: 150, size: 'max' })
    .map((list) => [new Register(3, ['*']), new Submit('normal', 'a', '1', undefined, 0), ...list])

/** The same of clients that share what slots there are: some have tasks queued at once. */
export const sharingLifeOf = (more: readonly fc.Arbitrary<Command>[]) =>
  fc
    .commands([...sharingCommands, ...more], { maxCommands: 150, size: 'max' })
    .map((list) => [
      new Register(1, ['*']),
      ...['ada', 'ada', 'ada', 'ada', 'bob', 'eve', 'bob'].map(
        (name, n) => new SubmitFor(name, n === 3 ? 'batch' : 'normal', 'a', 1, 0),
      ),
      ...list,
    ])
