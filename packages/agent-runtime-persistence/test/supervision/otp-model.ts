import type { ChildRestart, SiblingState, SupervisionStrategy } from '@ku0/agent-runtime-core'

/** A worker of the model: how it stands, and how often it was started. */
export interface Worker {
  readonly as: 'worker'
  readonly name: string
  readonly restart: ChildRestart
  /** Workers before it that have to be as far: it starts in order, but not before them. */
  readonly after: readonly { readonly worker: Worker; readonly until: SiblingState }[]
  state: 'not started' | 'alive' | 'completed' | 'failed' | 'canceled'
  starts: number
  /** It has said so. */
  ready: boolean
}

/** A supervisor as OTP has it, never done by itself. */
export interface Supervisor {
  readonly as: 'supervisor'
  readonly name: string
  readonly restart: ChildRestart
  readonly strategy: SupervisionStrategy
  readonly intensity: number
  readonly period: number
  readonly children: readonly Child[]
  state: Worker['state']
  restarts: number[]
}

export type Child = Worker | Supervisor

/** The supervisor of a child, undefined for the root. */
function supervisorOf(root: Supervisor, child: Child): Supervisor | undefined {
  if (root.children.includes(child)) return root
  for (const inner of root.children) {
    const found = inner.as === 'supervisor' ? supervisorOf(inner, child) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** All workers below. */
export function workersOf(root: Supervisor): readonly Worker[] {
  return root.children.flatMap((child) => (child.as === 'worker' ? [child] : workersOf(child)))
}

/** Starts, in the whole tree, the workers that waited for others before them. OTP starts the next child once the one before has started. */
export function startNext(root: Supervisor): void {
  if (root.state !== 'alive') return
  for (const child of root.children)
    if (child.as === 'supervisor') startNext(child)
    else if (child.state === 'not started' && child.after.every(isThere)) {
      child.state = 'alive'
      child.starts = 1
    }
}

function isThere({ worker, until }: Worker['after'][number]): boolean {
  return worker.state === 'completed' || (until === 'ready' && worker.ready)
}

/**
 * A child exits, as in OTP's `supervisor`: the restarts of the last period are counted; one too many terminates the supervisor, whose own
 * exit is the next one up. It differs in one thing: a child that completed is not started again with its siblings.
 */
export function exit(
  root: Supervisor,
  child: Child,
  how: 'completed' | 'failed' | 'canceled',
  now: number,
): void {
  child.state = how
  // A permanent one that completes is started anew.
  if (child.as === 'worker' && child.restart === 'permanent' && how === 'completed') child.ready = false
  const supervisor = supervisorOf(root, child)
  if (supervisor === undefined) return
  const wanted = child.restart === 'permanent' || (child.restart === 'transient' && how === 'failed')
  if (how === 'canceled' || !wanted) return
  supervisor.restarts = [...supervisor.restarts.filter((then) => now <= then + supervisor.period), now]
  if (supervisor.restarts.length > supervisor.intensity) {
    for (const sibling of supervisor.children.toReversed()) terminate(sibling)
    child.state = how === 'completed' ? 'completed' : 'failed'
    const again = () => revive(child)
    exit(root, supervisor, 'failed', now)
    if (supervisor.state === 'alive') again()
    return
  }
  const first = supervisor.children.indexOf(child)
  const isHit = (index: number) => supervisor.strategy === 'one_for_all' || index >= first
  const others =
    supervisor.strategy === 'one_for_one'
      ? []
      : supervisor.children.filter((it, index) => it !== child && isHit(index) && it.state === 'alive')
  for (const other of others.toReversed()) terminate(other)
  for (const it of supervisor.children)
    if (it === child) revive(it)
    else if (others.includes(it) && it.restart !== 'temporary') revive(it)
}

/** Stopped by its supervisor, with all below. */
function terminate(child: Child): void {
  if (child.state !== 'alive') return
  if (child.as === 'supervisor') for (const below of child.children.toReversed()) terminate(below)
  child.state = 'canceled'
  stopped.add(child)
}

/** What was stopped in the exit that is under way, and so may be started again with its supervisor. */
const stopped = new WeakSet<Child>()

function revive(child: Child): void {
  child.state = 'alive'
  stopped.delete(child)
  if (child.as === 'worker') {
    child.starts += 1
    return
  }
  child.restarts = []
  for (const below of child.children)
    if (stopped.has(below) && below.restart === 'temporary') stopped.delete(below)
    else if (stopped.has(below)) revive(below)
}
