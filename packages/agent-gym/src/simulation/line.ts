import { StoreError, type StoreInfo, type Write } from '@ku0/agent-runtime-core'
import {
  type Answer,
  type Line,
  type Message,
  runNow,
  type StoreEngine,
  type Turn,
} from '@ku0/agent-runtime-persistence/testing'
import type { Audit } from './audit.ts'
import type { Answered, Audited } from './audited.ts'
import type { Findings } from './findings.ts'
import type { Loop } from './loop.ts'
import type { Plant } from './plant.ts'

/** What is wrong with a line for now. */
export interface Trouble {
  /** Added to the way of each turn to the process, ms. */
  lateMs: number
  /** Chance that the answer to a write is lost, after its commit: its caller hears that the store is busy. */
  loses: number
  /** Chance that a write that may be repeated comes twice. */
  repeats: number
  /** Chance that a write is refused at once, and not done. */
  refuses: 'store_busy' | 'store_full' | undefined
  refusesShare: number
  /** Chance that what became of a lease is not told: the next write tells it. */
  muffles: number
  /** The process crashes at so many messages from now. */
  crashIn: number
}

export function noTrouble(): Trouble {
  return {
    lateMs: 0,
    loses: 0,
    repeats: 0,
    refuses: undefined,
    refusesShare: 0,
    muffles: 0,
    crashIn: Number.POSITIVE_INFINITY,
  }
}

/** What a line needs of its process and of the simulation. */
export interface LineParts {
  readonly process: Audited
  readonly store: StoreEngine
  /** The process's event loop, and that of its store's thread. */
  readonly main: Loop
  readonly thread: Loop
  readonly audit: Audit
  readonly findings: Findings
  readonly plant: Plant | undefined
  readonly chance: () => number
  readonly crash: (why: string) => void
  /** Nobody holds the database's lock from now on: an end in order would wait for it in real time. */
  readonly unlock: () => void
}

/**
 * The way between a process and its store's thread: messages there, turns back, each side with an event loop of its own. It does what
 * the real one does (docs/ARCHITECTURE.md, Its own thread), and what a bad one could do.
 */
export class SimulatedLine implements Line {
  readonly info: StoreInfo
  readonly trouble = noTrouble()
  /** The process was not told of the end of a lease: its next write under that tells it, whenever that is. */
  hasMuffled = false
  readonly #parts: LineParts
  readonly #receive: (turn: Turn) => void
  readonly #sent = new Map<number, Write>()
  #inbox: Message[] = []
  #armed: { cancel(): void } | undefined
  #turnDue = false
  /** What was sent first arrives first. */
  #turnsUntil = 0
  #repeatCalls = -1
  #ended = false

  constructor(parts: LineParts, receive: (turn: Turn) => void) {
    this.#parts = parts
    this.info = parts.store.engine.info
    this.#receive = receive
    this.#arm(100)
  }

  send(message: Message): void {
    const { process, plant, chance, findings } = this.#parts
    if (process.isDead || this.#ended) return
    if (this.#crashes('before it sent something')) return
    if (message.to === 'write') {
      const { operation, call } = message
      findings.note(process.name, `${operation.kind} ${subjectOf(operation)}`)
      this.#sent.set(call, operation)
      const { refuses, refusesShare, repeats } = this.trouble
      if (refuses !== undefined && chance() < refusesShare) {
        findings.count('faults')
        this.#tell({ ...nothing, answers: [{ call, error: new StoreError(refuses, 'as drawn') }] })
        return
      }
      if (repeatable.has(operation.kind) && chance() < repeats) {
        findings.count('faults')
        const again = (this.#repeatCalls -= 1)
        this.#sent.set(again, operation)
        this.#inbox.push({ ...message, call: again })
      }
    }
    const sent = plant?.send === undefined ? [message] : plant.send(message, process)
    for (const answer of sent) {
      if ('to' in answer) this.#inbox.push(answer)
      else this.#tell({ ...nothing, answers: [answer] })
    }
    if (this.#inbox.length > 0) this.#parts.thread.after(0, () => this.#arrive())
  }

  /** A simulated process stops and goes on; that its machine sleeps is not simulated. */
  mayHaveSlept(): boolean {
    return false
  }

  timesSlept(): number {
    return 0
  }

  /** The process ends in order: what was sent is done, then the files are let go. */
  end(): Promise<void> {
    const { store, audit, process } = this.#parts
    const { engine } = store
    this.#ended = true
    this.#armed?.cancel()
    if (!process.isDead) {
      this.#parts.unlock()
      for (const message of this.#inbox.splice(0)) this.#deliver(message)
      audit.placement.ends(process)
      audit.before()
      const turn = runNow(engine.finish())
      audit.after(process, this.#answeredBy(turn))
      this.#receive(turn)
      runNow(engine.close())
      audit.before()
    }
    return Promise.resolve()
  }

  #arrive(): void {
    const { store, audit, process, plant } = this.#parts
    if (this.#ended || process.isDead) return
    for (const message of this.#inbox.splice(0)) {
      audit.placement.arrives(process, message)
      this.#deliver(message)
    }
    const reads = store.engine.takeReads()
    if (reads.answers.length > 0) this.#tell(plant?.tell?.(reads) ?? reads)
    this.#turn()
  }

  #deliver(message: Message): void {
    const asked = this.#parts.store.engine.receive(message)
    if (asked !== undefined) runNow(asked)
  }

  #turn(): void {
    const { store, audit, process, findings, plant } = this.#parts
    const { engine } = store
    this.#turnDue = false
    if (this.#ended || process.isDead) return
    audit.before()
    plant?.beforeTurn?.(process)
    const turn = runNow(engine.take())
    plant?.afterTurn?.(process, turn)
    const isCommit = audit.after(process, this.#answeredBy(turn))
    if (isCommit && this.#crashes('after a commit')) return
    this.#tell(this.#damaged(turn))
    if (turn.failed !== undefined) findings.note(process.name, `the store failed: ${turn.failed.message}`)
    const rest = engine.restMs()
    if (Number.isFinite(rest)) this.#arm(rest)
  }

  #arm(rest: number): void {
    if (rest === 0 && this.#turnDue) return
    this.#armed?.cancel()
    this.#turnDue = rest === 0
    this.#armed = this.#parts.thread.after(rest === 0 ? 0 : Math.max(rest, leastRestMs), () => this.#turn())
  }

  #answeredBy(turn: Turn): Answered[] {
    const answered: Answered[] = []
    for (const answer of turn.answers) {
      const operation = this.#sent.get(answer.call)
      if (operation === undefined || 'error' in answer) continue
      answered.push({ operation, value: answer.value })
    }
    return answered
  }

  /** A turn as it comes out at the other end. */
  #damaged(turn: Turn): Turn {
    const { chance, findings, plant } = this.#parts
    const { loses, muffles } = this.trouble
    const lost = (answer: Answer): Answer => {
      const operation = this.#sent.get(answer.call)
      this.#sent.delete(answer.call)
      if (loses === 0 || operation === undefined || !repeatable.has(operation.kind) || chance() >= loses)
        return answer
      findings.count('faults')
      return { call: answer.call, error: new StoreError('store_busy', 'no answer came') }
    }
    const notices = muffles === 0 ? turn.notices : turn.notices.filter(() => chance() >= muffles)
    if (notices.length < turn.notices.length) this.hasMuffled = true
    const damaged = { ...turn, answers: turn.answers.map(lost), notices }
    return plant?.tell?.(damaged) ?? damaged
  }

  #tell(turn: Turn): void {
    const says =
      turn.answers.length +
        turn.claims.length +
        turn.notices.length +
        turn.events.length +
        turn.chunks.length >
        0 ||
      turn.schedulesDue ||
      turn.drains !== undefined ||
      turn.failed !== undefined
    if (!says) return
    const { main, thread, process } = this.#parts
    const now = this.#now()
    this.#turnsUntil = Math.max(this.#turnsUntil, now + this.trouble.lateMs)
    // On its way it is in nobody's hands: a stopped process finds it when it goes on.
    thread.after(this.#turnsUntil - now, () =>
      main.enter(() => {
        if (process.isDead || this.#crashes('before it heard something')) return
        this.#receive(turn)
      }),
    )
  }

  #now(): number {
    return this.#parts.thread.now
  }

  #crashes(why: string): boolean {
    this.trouble.crashIn -= 1
    if (this.trouble.crashIn > 0) return false
    this.trouble.crashIn = Number.POSITIVE_INFINITY
    this.#parts.crash(why)
    return true
  }
}

const nothing: Omit<Turn, 'failed'> = {
  answers: [],
  claims: [],
  notices: [],
  events: [],
  chunks: [],
  schedulesDue: false,
}

/**
 * What may be said twice: the store answers the second time as the first, or refuses it as stale. A `suspend` of a pass that stays, a
 * `failStep` or an `appendOutput` would count twice; no answer of the real store is lost while its process lives.
 */
const repeatable: ReadonlySet<Write['kind']> = new Set<Write['kind']>([
  'settle',
  'recordStep',
  'checkpoint',
  'spawn',
  'cancel',
  'release',
  'openPipeline',
  'publish',
  'receive',
])

function subjectOf(operation: Write): string {
  if (operation.kind === 'submit') return `${operation.tasks.length}`
  const parts = [
    'leaseId' in operation ? `lease ${Number.parseInt(operation.leaseId.slice(24), 16)}` : '',
    'taskId' in operation ? `task ${Number.parseInt(operation.taskId.slice(24), 16)}` : '',
    'key' in operation ? `'${operation.key}'` : '',
    operation.kind === 'settle' ? operation.settlement.as : '',
  ]
  return parts.filter((part) => part !== '').join(' ')
}

/** Less is lost in the rounding of the time, which would stand still then. */
const leastRestMs = 0.01
