import type { ChildNode, Node, Program } from './program.ts'

/** What a program comes to by its own words, without a runtime: what it returns, and what it needs from outside. */
export interface Meaning {
  readonly end: { readonly as: 'returned'; readonly value: unknown } | { readonly as: 'threw' }
  /** By name, in the order in which they are to be sent. */
  readonly signals: readonly { readonly name: string; readonly value: unknown; readonly before: boolean }[]
  /** By key: how often a human says no first; a human says nothing to those that are not here. */
  readonly rejections: ReadonlyMap<string, number>
  /** By key of a step that is in doubt: what a human knows of it. */
  readonly known: ReadonlyMap<string, unknown>
  readonly constructs: ReadonlySet<Node['does']>
  /** By key: the tasks that are spawned. */
  readonly children: ReadonlyMap<string, MeantChild>
}

export interface MeantChild {
  readonly node: ChildNode
  readonly value: unknown
}

/** What a step that heeds rejections returns. */
interface Heeding {
  readonly key: string
  /** How many rejections it was told of. */
  heard: number
}

export function meaningOf({ root, end, straight }: Program): Meaning {
  const reading: Reading = {
    straight,
    signals: [],
    rejections: new Map(),
    known: new Map(),
    constructs: new Set(),
    children: new Map(),
    sinceApproval: [],
    mails: 0,
  }
  const value = read(root, ROOT, reading)
  return { ...reading, end: end === 'returns' ? { as: 'returned', value } : { as: 'threw' } }
}

/** The key of a program's first node; the keys below it are paths. */
export const ROOT = 'p'

/** What a step of this key returns that no value was given. */
export function resultOf(key: string): unknown {
  return [`result of ${key}`]
}

/** What is sent to a wait of this key. */
export function sentTo(key: string): unknown {
  return { to: key }
}

interface Reading {
  readonly straight: boolean
  readonly signals: { name: string; value: unknown; before: boolean }[]
  readonly rejections: Map<string, number>
  readonly known: Map<string, unknown>
  readonly constructs: Set<Node['does']>
  readonly children: Map<string, MeantChild>
  /** What a rejection would void now. */
  sinceApproval: Heeding[]
  mails: number
}

function read(node: Node, key: string, it: Reading): unknown {
  it.constructs.add(node.does)
  const below = (part: Node, name: number | string) => read(part, `${key}.${name}`, it)
  switch (node.does) {
    case 'step': {
      if (!node.named) return node.value
      if (!it.straight) return [key, node.value]
      const heeding = { key, heard: 0 }
      it.sinceApproval.push(heeding)
      return heeding
    }
    case 'flaky':
    case 'doubtful':
      if (node.does === 'doubtful' && node.policy === 'ask')
        it.known.set(key, node.known ? { value: resultOf(key) } : {})
      return resultOf(key)
    case 'hopeless':
    case 'broken':
      return { caught: `${key} threw` }
    case 'sleep':
      return undefined
    case 'signal':
      if (node.sent === 'never') return { caught: 'TimeoutError' }
      it.signals.push({ name: key, value: sentTo(key), before: node.sent === 'before' })
      return sentTo(key)
    case 'mail':
      it.mails += 1
      it.signals.push({ name: 'mail', value: it.mails, before: !it.straight && it.mails === 1 })
      return it.mails
    case 'approval':
      return readApproval(node, key, it)
    case 'child':
      return readChild(node, key, it)
    case 'patched':
      return true
    case 'checkpoint':
    case 'emit':
      return null
    case 'sequence':
    case 'together':
      return node.parts.map(below)
    case 'all':
      return Object.fromEntries(node.parts.map((part, index) => [`b${index}`, below(part, index)]))
    case 'race': {
      if (node.loser === 'child') it.children.set(`${key}.l`, { node: lostChild, value: undefined })
      const value = below(node.winner, 'w')
      return node.throws ? { caught: `${key} threw` } : { winner: 'w', value }
    }
    case 'late':
      if (node.other === 'child') it.children.set(`${key}.l`, { node: lostChild, value: undefined })
      return { caught: 'TimeoutError' }
    case 'loop':
      return Array.from({ length: node.times }, (_, index) => below(node.body, index))
    case 'branch':
      return [node.draw, node.draw ? below(node.ways[0], 'a') : below(node.ways[1], 'b')]
    case 'caught':
      below(node.part, 'p')
      return { caught: `${key} threw` }
  }
}

/** What a child hears of is its own: no rejection of its parent's. */
function readChild(node: ChildNode, key: string, it: Reading): unknown {
  const own = { ...it, straight: false }
  const values = node.parts.map((part, index) => read(part, `${key}.${index}`, own))
  it.children.set(key, { node, value: values })
  const answer = node.throws ? { caught: 'TaskFailed' } : values
  switch (node.how) {
    case 'called':
      return answer
    case 'awaited':
      return [read(node.meanwhile, `${key}.m`, it), answer]
    case 'left':
    case 'lost':
      return null
  }
}

/** The child of a branch that loses: it is there to be canceled. */
const lostChild: ChildNode = {
  does: 'child',
  how: 'lost',
  parts: [{ does: 'step', value: 'lost', named: false, later: false }],
  throws: false,
  meanwhile: { does: 'emit' },
}

function readApproval(
  { rejections, how }: Extract<Node, { does: 'approval' }>,
  key: string,
  it: Reading,
): unknown {
  if (how === 'throw' && rejections > 0) {
    it.rejections.set(key, 1)
    return { caught: 'ApprovalRejected' }
  }
  if (how !== 'timeout' && how !== 'at once') it.rejections.set(key, rejections)
  if (how === 'rerun') for (const heeding of it.sinceApproval) heeding.heard = rejections
  it.sinceApproval = []
  return { approved: key }
}
