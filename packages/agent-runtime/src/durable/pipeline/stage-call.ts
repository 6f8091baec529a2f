import { type PipelineRecord, STAGE_WAIT_NAME, type StageWait, stageWaitKey } from '@ku0/agent-runtime-core'
import type { Deadline } from '../host.ts'
import { Answer } from '../pass/answer.ts'
import type { Start } from '../pass/gate.ts'
import type { StagePass } from './stage-pass.ts'
import { LIVE, type Member, type Scope } from '../pass/scope.ts'
import { endTopicOf, Stir, topicOf } from './stir.ts'

/** What the store has answered: the call is done, it has to wait, or the lease is lost. */
export type Tried<T> =
  | { readonly as: 'done'; readonly value: T }
  /** `wait`: for this, and not for what its facts say. */
  | { readonly as: 'wait'; readonly wait?: StageWait }
  | { readonly as: 'lost' }

/** A call of a stage on its pipeline. */
export interface StageCallFacts<T> {
  readonly name: string
  readonly key: string
  readonly position: number
  /** What it waits for if it has to wait. */
  readonly wait: StageWait
  /** Of which types it is told that there are events, or room. */
  readonly types: readonly string[]
  readonly pipeline: () => Promise<PipelineRecord>
  /** How long a later pass would take to come here. */
  readonly wayBackMs: number
  readonly attempt: (pipeline: PipelineRecord) => Promise<Tried<T>>
  /** Whether that would be answered now; it writes nothing. */
  readonly hasCome: (wait: StageWait) => Promise<boolean>
}

/**
 * A call of a stage that no memo answers. If it has to wait, it keeps its slot for a moment, because in a
 * pipeline that flows what it waits for comes at once; and for as long as a wait would cost, which is three
 * commits and the way back through the handler. So it never costs more than twice the cheaper of the two.
 * While others are given what it waits for, its turn comes nearer, and this time begins anew. Meanwhile it is
 * told of what this process does, and looks for what others do. Then it is a wait of the task, which holds no
 * slot. Source: `docs/semantics.md 13.2`.
 */
export class StageCall<T> implements Start, Member {
  readonly answer: Answer<T>
  readonly #pass: StagePass
  readonly #scope: Scope
  readonly #it: StageCallFacts<T>
  #counted = false
  #ended = false
  /** Undefined until it has to wait. */
  #kept: Kept | undefined
  /** Ends its slot; there while it keeps it. */
  #deadline: Deadline | undefined
  #pipeline = ''
  /** The type of several of which it is told; undefined for all. */
  #listensTo: string | undefined
  /** Stops that it is told of its pipeline. */
  #deaf: (() => void) | undefined
  /** It was told of something while the store was answering. */
  #wasTold = false
  /** It was told that there may be room, and the store has not answered since. */
  #knowsOfRoom = false
  /** The look that is under way; undefined once its result does not count. */
  #looking: Promise<boolean> | undefined
  #waits = 0
  #awaited: StageWait

  constructor(pass: StagePass, scope: Scope, it: StageCallFacts<T>) {
    this.answer = new Answer<T>(scope, it.name, it.key)
    this.#pass = pass
    this.#scope = scope
    this.#it = it
    this.#awaited = it.wait
  }

  begin(): Promise<T> {
    this.#scope.keep(this)
    if (this.#pass.gate.admits(this)) this.start()
    return this.answer.promise
  }

  start(): void {
    if (this.#ended) return
    if (this.#scope.closedBy !== undefined) return this.refuse()
    this.#pass.begun()
    this.#pass.gate.begin()
    this.#counted = true
    this.#kept = undefined
    this.#listensTo = undefined
    this.#try()
  }

  /** The handler has to stop, or has ended without waiting. */
  refuse(reason: unknown = this.#scope.closedBy): void {
    if (this.#ended) return
    this.#leave()
    this.answer.reject(reason)
  }

  abandon(reason: Error): void {
    this.refuse(reason)
  }

  #try(): void {
    const askedAt = this.#monotonic()
    this.#wasTold = false
    this.#ask().then(
      (tried) => this.#heard(tried, askedAt),
      (error: unknown) => this.#fail(error),
    )
  }

  #heard(tried: Tried<T>, askedAt: number): void {
    if (this.#ended) return
    if (this.#scope.closedBy !== undefined || tried.as === 'lost') return this.refuse()
    this.#knowsOfRoom &&= this.#wasTold
    if (tried.as === 'done') {
      // At this boundary the task may yield: then nothing is answered any more.
      if (!this.#leave()) this.answer.resolve(tried.value)
      return
    }
    if (tried.wait !== undefined) this.#awaits(tried.wait)
    if (this.#kept === undefined) {
      const now = this.#monotonic()
      // To suspend, to start again, and to ask again.
      const costMs = this.#it.wayBackMs + 3 * (now - askedAt)
      this.#kept = { since: now, movedAt: now, forMs: Math.max(costMs, KEEPS_SLOT_MS) }
    }
    this.#keepSlot(this.#kept)
  }

  #keepSlot(kept: Kept): void {
    const leftMs = this.#leftMs(kept)
    if (leftMs <= 0) return this.#wait()
    // What this waits for may have come in the commit that answered, after the answer.
    if (this.#wasTold) return this.#try()
    this.#deadline = this.#pass.attempt.parts.deadlines.after(Math.min(leftMs, LOOKS_AFTER_MS), () => {
      this.#deadline = undefined
      if (this.#ended) return
      if (this.#leftMs(kept) > 0) this.#look()
      // Beside the look, which may take long.
      this.#keepSlot(kept)
    })
  }

  /** How much longer it may keep its slot. */
  #leftMs(kept: Kept): number {
    if (this.#scope.closedBy !== undefined || this.#pass.attempt.yieldAsked) return 0
    return endOf(kept) - this.#monotonic()
  }

  /** Nobody in this process has told it of anything; others may have published, received or ended. */
  #look(): void {
    if (this.#looking !== undefined) return
    const looking = this.#it.hasCome(this.#awaited)
    this.#looking = looking
    const looked = (hasCome: boolean) => {
      if (this.#looking === looking) this.#looked(hasCome)
    }
    // It is only a look: one that fails has found nothing.
    looking.then(looked, () => looked(false))
  }

  #looked(hasCome: boolean): void {
    this.#looking = undefined
    if (this.#scope.closedBy !== undefined) return this.refuse()
    if (!hasCome) return
    this.#stopLooking()
    this.#try()
  }

  /** It listens before it asks, so that nothing comes in between. */
  async #ask(): Promise<Tried<T>> {
    const pipeline = await this.#it.pipeline()
    this.#pipeline = pipeline.taskId
    if (!this.#ended) this.#deaf ??= this.#listen(this.#it.types)
    return this.#it.attempt(pipeline)
  }

  /** It waits for one of its types only: who waits for another is told of that in its place. */
  #awaits(wait: StageWait): void {
    this.#awaited = wait
    if (wait.for !== 'room' || this.#it.types.length === 1 || this.#listensTo === wait.type) return
    this.#listensTo = wait.type
    this.#deaf?.()
    this.#deaf = this.#listen([wait.type])
    this.#stir.stirFirst(this.#topicsOf(this.#it.types.filter((type) => type !== wait.type)))
  }

  get #stir(): Stir {
    return Stir.of(this.#pass.attempt.parts.store)
  }

  #topicsOf(types: readonly string[]): readonly string[] {
    return types.map((type) => topicOf(this.#pipeline, this.#it.wait.for, type))
  }

  #listen(types: readonly string[]): () => void {
    return this.#stir.listen([...this.#topicsOf(types), endTopicOf(this.#pipeline)], {
      heard: () => {
        this.#knowsOfRoom = this.#it.wait.for === 'room'
        if (this.#deadline === undefined) {
          this.#wasTold = true
          return
        }
        this.#stopLooking()
        this.#try()
      },
      moved: () => {
        if (this.#kept !== undefined) this.#kept.movedAt = this.#monotonic()
      },
    })
  }

  #stopLooking(): void {
    this.#deadline?.cancel()
    this.#deadline = undefined
    this.#looking = undefined
  }

  #stopListening(): void {
    this.#stopLooking()
    this.#deaf?.()
    this.#deaf = undefined
    if (!this.#knowsOfRoom) return
    this.#knowsOfRoom = false
    // Only the first is told of room. This one leaves, so the next has to know.
    this.#stir.stirFirst(this.#topicsOf(this.#listensTo === undefined ? this.#it.types : [this.#listensTo]))
  }

  #wait(): void {
    this.#stopListening()
    // The handler had to stop while the call kept its slot.
    if (this.#scope.closedBy !== undefined) return this.refuse()
    const { position } = this.#it
    const wait = this.#awaited
    this.#counted = false
    this.#pass.waits.add({
      request: {
        key: stageWaitKey(`${position}.${this.#waits++}`, wait),
        position,
        kind: 'signal',
        name: STAGE_WAIT_NAME,
      },
      scope: this.#scope,
      over: () => {
        if (!this.#ended && this.#pass.gate.admits(this)) this.start()
      },
      refuse: (reason) => this.refuse(reason),
    })
    this.#pass.gate.endInWait()
  }

  /** Nothing was stored: the key may be used again. */
  #fail(error: unknown): void {
    if (this.#ended) return
    this.#pass.giveBack(this.#it.key, this.#it.position)
    this.refuse(error)
  }

  /** True if the task has yielded here, or its handler has to stop. */
  #leave(): boolean {
    this.#ended = true
    this.#stopListening()
    this.#scope.drop(this)
    this.#scope.answered(LIVE)
    if (!this.#counted) return false
    this.#counted = false
    return this.#pass.gate.end()
  }

  #monotonic(): number {
    return this.#pass.attempt.parts.environment.clock.monotonic()
  }
}

/** How a call keeps the slot of its stage; times by the monotonic clock. */
interface Kept {
  readonly since: number
  /** When something was done last about what it waits for. */
  movedAt: number
  /** So long after that. */
  readonly forMs: number
}

function endOf({ since, movedAt, forMs }: Kept): number {
  return Math.min(movedAt + forMs, since + MOST_KEPT_MS)
}

/** How long a stage keeps its slot for events, or for room, that may come at once. */
const KEEPS_SLOT_MS = 50
/** The longest that it keeps it, however long the way back was. */
const MOST_KEPT_MS = 250
/** How often it looks while it keeps it. */
const LOOKS_AFTER_MS = 10
