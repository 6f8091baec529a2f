import {
  type ChildRestart,
  childRestarts,
  type Claim,
  supervisedKey,
  supervisionStrategies,
  SUPERVISOR_NAME,
  supervisorKey,
} from '@ku0/agent-runtime-core'
import { type Scene, submission } from '@ku0/agent-runtime-conformance'
import type { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { type Child, exit, type Supervisor, type Worker, workersOf } from './otp-model.ts'

/** A tree of supervisors that the store has, beside the model of it. */
export class Play {
  readonly root: Supervisor
  readonly #scene: Scene
  readonly #random: SeededRandom
  /** By the name of a worker, or of a supervisor: its last claim. */
  readonly #claims = new Map<string, Claim>()
  readonly #tasks = new Map<string, string>()

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

  /** A worker ends, somehow, after some time; the model does the same. What it did. */
  async step(): Promise<string | undefined> {
    const alive = workersOf(this.root).filter(({ state }) => state === 'alive')
    const worker = alive[this.#random.int(Math.max(1, alive.length))]
    if (worker === undefined) return undefined
    await this.#scene.pass(this.#random.int(3) === 0 ? 0 : this.#random.int(400))
    const how =
      (['failed', 'failed', 'failed', 'completed', 'canceled'] as const)[this.#random.int(5)] ?? 'failed'
    const claim = this.#claims.get(worker.name)
    if (claim === undefined) throw new Error(`${worker.name} does not run`)
    if (how === 'canceled') await this.#scene.cancel(claim.taskId)
    else if (how === 'completed') await this.#scene.settle(claim)
    else await this.#scene.settle(claim, { as: 'failed', kind: 'error', error: '{"message":"broken"}' })
    exit(this.root, worker, how, this.#scene.now)
    await this.#hear()
    return `${worker.name} ${how} at ${this.#scene.now}`
  }

  /** By name: how it stands in the model, and in the store. */
  async compare(): Promise<readonly [model: readonly string[], store: readonly string[]]> {
    const model: string[] = []
    const store: string[] = []
    for (const it of this.#all(this.root)) {
      model.push(textOf(it))
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
    const children = Array.from({ length: 1 + random.int(4) }, (_, nth): Child => {
      const own = childRestarts[random.int(3)] ?? 'transient'
      const below = `${name}.${String.fromCodePoint(97 + nth)}`
      return depth < 2 && random.int(3) === 0
        ? this.#supervisor(below, own === 'permanent' ? 'transient' : own, depth + 1)
        : { as: 'worker', name: below, restart: own, state: 'alive', starts: 1 }
    })
    const strategy = supervisionStrategies[random.int(3)] ?? 'one_for_one'
    const terms = { strategy, intensity: random.int(4), period: 100 + random.int(900) }
    return { as: 'supervisor', name, restart, ...terms, children, state: 'alive', restarts: [] }
  }

  async #start({ name, strategy, intensity, period, children }: Supervisor): Promise<void> {
    const scene = this.#scene
    const claim = this.#claims.get(name)
    if (claim === undefined) throw new Error(`${name} does not run`)
    const { leaseId } = claim
    const key = supervisorKey({ strategy, maxRestarts: intensity, periodMs: period, endsWith: 'cancel' })
    const waits = [{ key, position: 0, kind: 'signal', name: SUPERVISOR_NAME }] as const
    await scene.write({ kind: 'suspend', leaseId, waits, stay: true })
    for (const [position, child] of children.entries()) {
      const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: child.name })
      const own = supervisedKey({ id: child.name, restart: child.restart })
      const at = { leaseId, key: own, position: position + 1, policy: 'cancel' } as const
      const spawned = await scene.write({ kind: 'spawn', ...at, submission: task })
      if (spawned.fenced !== 'ok' || spawned.as !== 'spawned') throw new Error(JSON.stringify(spawned))
      this.#tasks.set(child.name, spawned.child.taskId)
      await this.#hear()
    }
    await scene.write({ kind: 'suspend', leaseId, waits, stay: false })
    for (const child of children) if (child.as === 'supervisor') await this.#start(child)
  }

  async #hear(): Promise<void> {
    while (await this.#scene.hasClaim()) {
      const claim = await this.#scene.claim()
      this.#claims.set(claim.type, claim)
      this.#tasks.set(claim.type, claim.taskId)
    }
  }

  #all(root: Supervisor): readonly Child[] {
    return [root, ...root.children.flatMap((it) => (it.as === 'worker' ? [it] : this.#all(it)))]
  }
}

function textOf(it: Child): string {
  if (it.as === 'worker') return `${it.name} ${it.state} ${it.starts}`
  return `${it.name} ${it.state}${it.state === 'alive' ? ` ${it.restarts.join(' ')}` : ''}`
}
