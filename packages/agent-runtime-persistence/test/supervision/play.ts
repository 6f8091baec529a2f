import {
  afterKey,
  type ChildRestart,
  childRestarts,
  type Claim,
  READY_KEY,
  type Sibling,
  siblingStates,
  supervisedKey,
  supervisionStrategies,
  SUPERVISOR_NAME,
  supervisorKey,
} from '@ku0/agent-runtime-core'
import { type Scene, submission } from '@ku0/agent-runtime-conformance'
import type { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { type Child, exit, startNext, type Supervisor, type Worker, workersOf } from './otp-model.ts'

/** A tree of supervisors that the store has, beside the model of it. */
export class Play {
  readonly root: Supervisor
  readonly #scene: Scene
  readonly #random: SeededRandom
  /** By the name of a worker, or of a supervisor: its last claim. */
  readonly #claims = new Map<string, Claim>()
  readonly #tasks = new Map<string, string>()
  /** By name: supervisors that wait, and how often one has gone through its handler. */
  readonly #supervisors = new Map<string, { readonly it: Supervisor; passes: number }>()

  constructor(scene: Scene, random: SeededRandom) {
    this.#scene = scene
    this.#random = random
    this.root = this.#supervisor('s', 'transient', 0)
  }

  async begin(): Promise<void> {
    await this.#scene.worker('w', 200, ['*'], 1_000_000)
    this.#tasks.set('s', await this.#scene.accepted({ type: 's' }))
    await this.#hear()
    await this.#start(this.root)
  }

  /** A worker ends, somehow, after some time, or says that it is ready; the model does the same. What it did. */
  async step(): Promise<string | undefined> {
    const alive = workersOf(this.root).filter(({ state }) => state === 'alive')
    const worker = alive[this.#random.int(Math.max(1, alive.length))]
    if (worker === undefined) return undefined
    if (this.#random.int(4) === 0) {
      const said = this.#claims.get(worker.name)
      if (said === undefined) throw new Error(`${worker.name} does not run`)
      await this.#scene.step(said, READY_KEY, 'null')
      worker.ready = true
      startNext(this.root)
      await this.#hear()
      return `${worker.name} ready`
    }
    await this.#scene.pass(this.#random.int(3) === 0 ? 0 : this.#random.int(400))
    const how =
      (['failed', 'failed', 'failed', 'completed', 'canceled'] as const)[this.#random.int(5)] ?? 'failed'
    const claim = this.#claims.get(worker.name)
    if (claim === undefined) throw new Error(`${worker.name} does not run`)
    if (how === 'canceled') await this.#scene.cancel(claim.taskId)
    else if (how === 'completed') await this.#scene.settle(claim)
    else await this.#scene.settle(claim, { as: 'failed', kind: 'error', error: '{"message":"broken"}' })
    exit(this.root, worker, how, this.#scene.now)
    startNext(this.root)
    await this.#hear()
    return `${worker.name} ${how} at ${this.#scene.now}`
  }

  /** By name: how it stands in the model, and in the store. */
  async compare(): Promise<readonly [model: readonly string[], store: readonly string[]]> {
    const model: string[] = []
    const store: string[] = []
    for (const it of this.#all(this.root)) {
      model.push(textOf(it, this.#scene.now))
      if (!this.#tasks.has(it.name)) {
        store.push(`${it.name} not started 0`)
        continue
      }
      const taskId = this.#tasks.get(it.name) ?? ''
      const { state } = await this.#scene.task(taskId)
      const stands = state === 'running' || state === 'waiting' ? 'alive' : state
      if (it.as === 'supervisor') {
        const times = (await this.#scene.read({ kind: 'supervisor', taskId }))?.restartedAt ?? []
        store.push(`${it.name} ${stands}${stands === 'alive' ? ` ${times.join(' ')}` : ''}`)
      } else store.push(`${it.name} ${stands} ${await this.#startsOf(it)}`)
    }
    return [model, store]
  }

  /** Claims say how often it was started: a worker of the scene never loses its lease otherwise. */
  async #startsOf({ name }: Worker): Promise<number> {
    return this.#scene.claims.filter(({ type }) => type === name).length
  }

  #supervisor(name: string, restart: ChildRestart, depth: number): Supervisor {
    const random = this.#random
    const children: Child[] = []
    for (let nth = random.int(4); nth >= 0; nth -= 1) {
      const own = childRestarts[random.int(3)] ?? 'transient'
      const below = `${name}.${String.fromCodePoint(97 + children.length)}`
      children.push(
        depth < 2 && random.int(3) === 0
          ? this.#supervisor(below, own === 'permanent' ? 'transient' : own, depth + 1)
          : this.#worker(below, own, children),
      )
    }
    const strategy = supervisionStrategies[random.int(3)] ?? 'one_for_one'
    const terms = { strategy, intensity: random.int(4), period: 100 + random.int(900) }
    return { as: 'supervisor', name, restart, ...terms, children, state: 'alive', restarts: [] }
  }

  #worker(name: string, restart: ChildRestart, before: readonly Child[]): Worker {
    const random = this.#random
    const after = before.flatMap((worker) => {
      if (worker.as === 'supervisor' || random.int(3) > 0) return []
      const until = siblingStates[random.int(2)] ?? 'ready'
      return [{ worker, until: worker.restart === 'permanent' ? ('ready' as const) : until }]
    })
    const state = after.length === 0 ? 'alive' : 'not started'
    return { as: 'worker', name, restart, after, state, starts: after.length === 0 ? 1 : 0, ready: false }
  }

  async #start({ name, strategy, intensity, period, children }: Supervisor): Promise<void> {
    const scene = this.#scene
    const claim = this.#claims.get(name)
    if (claim === undefined) throw new Error(`${name} does not run`)
    const { leaseId } = claim
    const key = supervisorKey({ strategy, maxRestarts: intensity, periodMs: period, endsWith: 'cancel' })
    const wait = { key, position: 0, kind: 'signal', name: SUPERVISOR_NAME } as const
    await scene.write({ kind: 'suspend', leaseId, waits: [wait], stay: true })
    for (const [position, child] of children.entries())
      if (child.as === 'supervisor' || child.after.length === 0) {
        const outcome = await this.#spawn(leaseId, child, position)
        if (outcome !== 'spawned') throw new Error(`${child.name}: ${outcome}`)
      }
    const it = this.#all(this.root).find((each) => each.name === name) as Supervisor
    this.#supervisors.set(name, { it, passes: 0 })
    await this.#park(name, leaseId)
    for (const child of children) if (child.as === 'supervisor') await this.#start(child)
  }

  /** A supervisor waits for what has to come before its other children, and starts those for which it is over. */
  async #park(name: string, leaseId: string): Promise<void> {
    const standing = this.#supervisors.get(name)
    if (standing === undefined) throw new Error(`${name} does not supervise`)
    const { it } = standing
    const { strategy, intensity, period, children } = it
    const key = supervisorKey({ strategy, maxRestarts: intensity, periodMs: period, endsWith: 'cancel' })
    const own = { key, position: 0, kind: 'signal', name: SUPERVISOR_NAME } as const
    for (;;) {
      standing.passes += 1
      const waits = [...children.entries()].flatMap(([position, child]) =>
        child.as === 'supervisor' || this.#tasks.has(child.name)
          ? []
          : [
              {
                ...own,
                key: afterKey(standing.passes, child.name, siblingsOf(child)),
                position: position + 1,
              },
            ],
      )
      const all = [own, ...waits]
      const outcome = await this.#scene.write({ kind: 'suspend', leaseId, waits: all, stay: false })
      if (outcome.fenced !== 'ok' || outcome.suspended) return
      await this.#startThose(it, leaseId)
    }
  }

  async #startThose({ children }: Supervisor, leaseId: string): Promise<void> {
    for (const [position, child] of children.entries())
      if (child.as === 'worker' && !this.#tasks.has(child.name)) await this.#spawn(leaseId, child, position)
  }

  async #spawn(leaseId: string, child: Child, position: number): Promise<string> {
    const scene = this.#scene
    const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: child.name })
    const own = supervisedKey({ id: child.name, restart: child.restart })
    const at = { leaseId, key: own, position: position + 1, policy: 'cancel' } as const
    const after = child.as === 'worker' ? siblingsOf(child) : []
    const order = after.length === 0 ? {} : { after }
    const spawned = await scene.write({ kind: 'spawn', ...at, ...order, submission: task })
    if (spawned.fenced !== 'ok') return spawned.fenced
    if (spawned.as === 'spawned') this.#tasks.set(child.name, spawned.child.taskId)
    if (spawned.as === 'spawned') await this.#hear()
    return spawned.as
  }

  async #hear(): Promise<void> {
    while (await this.#scene.hasClaim()) {
      const claim = await this.#scene.claim()
      this.#claims.set(claim.type, claim)
      this.#tasks.set(claim.type, claim.taskId)
      const standing = this.#supervisors.get(claim.type)
      if (standing === undefined) continue
      await this.#startThose(standing.it, claim.leaseId)
      await this.#park(claim.type, claim.leaseId)
    }
  }

  #all(root: Supervisor): readonly Child[] {
    return [root, ...root.children.flatMap((it) => (it.as === 'worker' ? [it] : this.#all(it)))]
  }
}

function siblingsOf({ after }: Worker): readonly Sibling[] {
  return after.map(({ worker, until }) => ({ id: worker.name, restart: worker.restart, until }))
}

function textOf(it: Child, now: number): string {
  if (it.as === 'worker') return `${it.name} ${it.state} ${it.starts}`
  const counted = it.restarts.filter((then) => now <= then + it.period)
  return `${it.name} ${it.state}${it.state === 'alive' ? ` ${counted.join(' ')}` : ''}`
}
