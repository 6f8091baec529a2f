import fc from 'fast-check'

/** A handler as data: what it does, and with which results. */
export interface Program {
  readonly root: Node
  readonly end: 'returns' | 'throws'
  /**
   * One thing after the other, steps beside steps at most, and nothing that a crash makes happen again in the history: its behaviour
   * does not depend on where it crashes. Approvals are rejected where a reader can say what that voids.
   */
  readonly straight: boolean
}

/** What a handler does. Times are ms; what is said of a branch that is not to win is in {@link loserOf}. */
export type Node =
  | { readonly does: 'step'; readonly value: unknown; readonly named: boolean; readonly later: boolean }
  | { readonly does: 'flaky'; readonly failures: number; readonly backoffMs: number }
  | { readonly does: 'hopeless'; readonly attempts: number }
  | { readonly does: 'broken'; readonly later: boolean }
  | { readonly does: 'doubtful'; readonly policy: 'verify' | 'ask' | 'fail'; readonly known: boolean }
  | { readonly does: 'sleep'; readonly ms: number }
  | { readonly does: 'signal'; readonly sent: 'before' | 'during' | 'never'; readonly patienceMs: number }
  | { readonly does: 'mail' }
  | {
      readonly does: 'approval'
      readonly rejections: number
      readonly how: ApprovalWay
    }
  | ChildNode
  | { readonly does: 'patched' }
  | { readonly does: 'checkpoint' }
  | { readonly does: 'emit' }
  | { readonly does: 'sequence'; readonly parts: readonly Node[] }
  | { readonly does: 'together'; readonly parts: readonly Node[] }
  | { readonly does: 'all'; readonly parts: readonly Node[]; readonly limited: boolean }
  | {
      readonly does: 'race'
      readonly winner: Node
      readonly loser: Loser
      readonly first: boolean
      readonly throws: boolean
      readonly limited: boolean
    }
  | LateNode
  | { readonly does: 'loop'; readonly times: number; readonly body: Node }
  | { readonly does: 'branch'; readonly draw: boolean; readonly ways: readonly [Node, Node] }
  | { readonly does: 'caught'; readonly part: Node }

/** A race or an `all` whose time is over before its branches are: one does something first, and neither ever ends. */
export interface LateNode {
  readonly does: 'late'
  readonly as: 'race' | 'all'
  readonly first: Node
  readonly other: Exclude<Loser, 'step'>
  readonly timeoutMs: number
}

/**
 * A task that the handler spawns: it goes through its parts, one after the other, and returns what they gave, or throws.
 *
 * - `called`: at once, with `ctx.call`.
 * - `awaited`: with `ctx.spawn`; the handler does something else before it asks for the result.
 * - `left`: nobody asks for its result, and it would end long after its parent.
 * - `lost`: its branch loses before it ends.
 */
export interface ChildNode {
  readonly does: 'child'
  readonly how: 'called' | 'awaited' | 'left' | 'lost'
  readonly parts: readonly Node[]
  readonly throws: boolean
  readonly meanwhile: Node
}

/** `timeout` and `at once`: nobody answers, and patience ends with an approval. */
type ApprovalWay = 'rerun' | 'throw' | 'timeout' | 'at once' | 'spot check'

/** What the branch does that is to lose: it ends long after the other, or never, or second. */
export type Loser = 'sleep' | 'signal' | 'approval' | 'step' | 'step after sleep' | 'child'

export type Construct = Node['does']

/** All of them: a test fails in which one never occurred. */
export const constructs = Object.keys({
  step: true,
  flaky: true,
  hopeless: true,
  broken: true,
  doubtful: true,
  sleep: true,
  signal: true,
  mail: true,
  approval: true,
  child: true,
  patched: true,
  checkpoint: true,
  emit: true,
  sequence: true,
  together: true,
  all: true,
  race: true,
  late: true,
  loop: true,
  branch: true,
  caught: true,
} satisfies Record<Construct, true>) as readonly Construct[]

/** One of every kind that the codec has. */
const values: readonly unknown[] = [
  null,
  undefined,
  Number.NaN,
  -0,
  Number.NEGATIVE_INFINITY,
  false,
  '',
  '\0\ud800',
  1n << 70n,
  new Date(0),
  new Map<unknown, unknown>([['a', new Set([1, undefined])]]),
  new Set([null]),
  new Uint8Array([1, 2, 3]),
  [1, { b: [Number.NaN] }],
]

const step = fc.record({
  does: fc.constant('step' as const),
  value: fc.constantFrom(...values),
  named: fc.boolean(),
  later: fc.boolean(),
})
const sleep = fc.record({ does: fc.constant('sleep' as const), ms: fc.constantFrom(0, 1, 500, 30_000) })
const approval = fc.record({
  does: fc.constant('approval' as const),
  rejections: fc.constantFrom(0, 1, 2),
  how: fc.constantFrom<ApprovalWay[]>('rerun', 'rerun', 'rerun', 'throw', 'timeout', 'at once'),
})
const emit = fc.record({ does: fc.constant('emit' as const) })

/** What children are made of, and what goes on beside them. */
const plain: fc.Arbitrary<Node> = fc.oneof({ arbitrary: step, weight: 2 }, { arbitrary: sleep, weight: 1 })

const childOf = (part: fc.Arbitrary<Node>): fc.Arbitrary<ChildNode> =>
  fc.record({
    does: fc.constant('child' as const),
    how: fc.constantFrom('called' as const, 'called' as const, 'awaited' as const, 'left' as const),
    parts: fc.array(part, { minLength: 1, maxLength: 2 }),
    throws: fc.constantFrom(false, false, true),
    meanwhile: plain,
  })
const child = childOf(fc.oneof({ arbitrary: plain, weight: 4 }, { arbitrary: childOf(plain), weight: 1 }))

/** What a program is made of whose history is the same wherever it crashes. */
const straightLeaf: fc.Arbitrary<Node> = fc.oneof(
  { arbitrary: step, weight: 4 },
  { arbitrary: sleep, weight: 1 },
  {
    arbitrary: fc.record({
      does: fc.constant('signal' as const),
      sent: fc.constant('during' as const),
      patienceMs: fc.constant(0),
    }),
    weight: 1,
  },
  { arbitrary: approval, weight: 2 },
  { arbitrary: child, weight: 2 },
  { arbitrary: emit, weight: 1 },
)

const leaf: fc.Arbitrary<Node> = fc.oneof(
  { arbitrary: step, weight: 4 },
  fc.record({
    does: fc.constant('flaky' as const),
    failures: fc.integer({ min: 1, max: 2 }),
    backoffMs: fc.constantFrom(0, 10, 60_000),
  }),
  fc.record({ does: fc.constant('hopeless' as const), attempts: fc.integer({ min: 2, max: 3 }) }),
  fc.record({ does: fc.constant('broken' as const), later: fc.boolean() }),
  {
    arbitrary: fc.record({
      does: fc.constant('doubtful' as const),
      policy: fc.constantFrom('verify' as const, 'ask' as const, 'fail' as const),
      known: fc.boolean(),
    }),
    weight: 2,
  },
  sleep,
  {
    arbitrary: fc.record({
      does: fc.constant('signal' as const),
      sent: fc.constantFrom('before' as const, 'during' as const, 'never' as const),
      patienceMs: fc.constantFrom(0, 1_000, 864_000_000),
    }),
    weight: 2,
  },
  {
    arbitrary: fc.oneof(
      approval,
      fc.record({
        does: fc.constant('approval' as const),
        rejections: fc.constant(0),
        how: fc.constant('spot check' as const),
      }),
    ),
    weight: 2,
  },
  { arbitrary: child, weight: 2 },
  fc.record({ does: fc.constant('checkpoint' as const) }),
  emit,
)

const late = fc.record({
  does: fc.constant('late' as const),
  as: fc.constantFrom('race' as const, 'all' as const),
  first: plain,
  other: fc.constantFrom<LateNode['other'][]>('sleep', 'signal', 'approval', 'step after sleep', 'child'),
  timeoutMs: fc.constantFrom(0, 500, 40_000),
})

const parts = (part: fc.Arbitrary<Node>, minLength = 1) => fc.array(part, { minLength, maxLength: 3 })

function nodeOf(depth: number, straight: boolean): fc.Arbitrary<Node> {
  const end = straight ? straightLeaf : leaf
  if (depth === 0) return end
  const inner = nodeOf(depth - 1, straight)
  const common: fc.Arbitrary<Node>[] = [
    fc.record({ does: fc.constant('sequence' as const), parts: parts(inner) }),
    fc.record({ does: fc.constant('loop' as const), times: fc.integer({ min: 1, max: 2 }), body: inner }),
    fc.record({ does: fc.constant('branch' as const), draw: fc.boolean(), ways: fc.tuple(inner, inner) }),
    fc.record({ does: fc.constant('caught' as const), part: inner }),
  ]
  const sideBySide: fc.Arbitrary<Node>[] = straight
    ? [fc.record({ does: fc.constant('together' as const), parts: parts(step, 2) })]
    : [
        fc.record({ does: fc.constant('together' as const), parts: parts(inner, 2) }),
        fc.record({ does: fc.constant('all' as const), parts: parts(inner), limited: fc.boolean() }),
        fc.record({
          does: fc.constant('race' as const),
          winner: inner,
          loser: fc.constantFrom<Loser>('sleep', 'signal', 'approval', 'step', 'step after sleep', 'child'),
          first: fc.boolean(),
          throws: fc.constantFrom(false, false, true),
          limited: fc.boolean(),
        }),
        late,
      ]
  return fc.oneof({ arbitrary: end, weight: 2 }, ...common, ...sideBySide)
}

/** Mail is a signal that several waits take in turn, one after the other. */
const mail: fc.Arbitrary<Node> = fc.constant({ does: 'mail' })

/** Not in a branch, where it is refused. */
const patched: fc.Arbitrary<Node> = fc.constant({ does: 'patched' })

export const program: fc.Arbitrary<Program> = fc.boolean().chain((straight) =>
  fc.record({
    root: parts(
      fc.oneof(
        { arbitrary: nodeOf(2, straight), weight: 6 },
        { arbitrary: mail, weight: 1 },
        { arbitrary: patched, weight: 1 },
      ),
      1,
    ).map((all) => ({ does: 'sequence' as const, parts: all })),
    end: fc.constantFrom('returns' as const, 'returns' as const, 'throws' as const),
    straight: fc.constant(straight),
  }),
)

/** One that chance seldom makes: the first event behind an approval is a step, and is void. */
export const behindAnApproval: Program = {
  root: {
    does: 'sequence',
    parts: [
      { does: 'step', value: 1, named: true, later: false },
      { does: 'approval', rejections: 0, how: 'at once' },
      { does: 'step', value: 2, named: true, later: false },
      { does: 'approval', rejections: 1, how: 'rerun' },
      { does: 'step', value: 3, named: true, later: false },
    ],
  },
  end: 'returns',
  straight: true,
}
