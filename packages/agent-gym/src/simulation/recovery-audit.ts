import type { EventData, FailureCategory, RecoveryChoice } from '@ku0/agent-runtime-core'
import type { Findings } from './findings.ts'
import { type Followed, RUNNING } from './followed.ts'
import {
  handOverTerms,
  mostRejections,
  plannedParts,
  type RecoveringPass,
  recoveryTerms,
  type RecoveryTerms,
} from './recoveries.ts'
import { MAX_ATTEMPTS } from './program.ts'
import type { AuditedEvent } from './stored-rows.ts'
import type { Walk } from './walk.ts'

/** A try that has ended without success. */
interface Past {
  readonly seq: number
  /** The attempt that failed. */
  readonly attempt: number
  readonly category: FailureCategory
  readonly strategy: RecoveryChoice
}

/** The task that another one was handed over to. */
interface Other {
  readonly task: string
  readonly nth: number
  /** Its number, once it was called. */
  child: number | undefined
  /** What followed was decided: the handler has its turn again. */
  isOver: boolean
}

/** How a task ended. */
interface End {
  readonly type: string
  readonly output?: unknown
  /** Of one without an output. */
  readonly cause?: Cause
}

/** What the audit knows of a task with a table of recovery. */
interface Watched extends RecoveryTerms {
  model: string | undefined
  /** The last failure of its work, and the end of a process after it. */
  failure: Past | undefined
  crash: Past | undefined
  /** The last rejection of its work, and how many there were since the last approval. */
  rejectedSeq: number
  rejections: number
  /** Passes that came to nothing: they count as no tries. */
  interrupted: number
  /** Questions about failures, by the event of the failure: what was answered. */
  readonly asked: Map<number, 'open' | 'approved' | 'rejected'>
  startedSeq: number
  lastSeq: number
  handedOver: Other | undefined
  handOvers: number
  end: End | undefined
}

/** From weak to strong. Source: `docs/semantics.md 14.3`. */
const strengths: readonly RecoveryChoice[] = [
  'fail',
  'retry_with_backoff',
  'retry_with_feedback',
  'fallback_agent',
  'restart',
  'human_escalation',
]

/** The part of the audit that looks at what is done about failures, by a model of its own. Source: `docs/semantics.md 14.3`. */
export class RecoveryAudit {
  readonly #findings: Findings
  readonly #numberOf: (taskId: string) => number | undefined
  readonly #watched = new Map<number, Watched>()

  constructor(
    findings: Findings,
    { numberOf }: { readonly numberOf: (taskId: string) => number | undefined },
  ) {
    this.#findings = findings
    this.#numberOf = numberOf
  }

  /** Whether a task has a table: then {@link event} says whether it may fail. */
  isWatched(task: number): boolean {
    return this.#watched.has(task)
  }

  /** The task whose handler gives the output of a task: its own, or that of the one that it was handed over to. */
  workerOf(task: number): number {
    const other = otherOf(this.#watched.get(task))
    return other?.child === undefined ? task : this.workerOf(other.child)
  }

  /** An event of a task, before it is followed. */
  event(walk: Walk, { seq, type }: AuditedEvent, data: Record<string, unknown>): void {
    if (type === 'task.queued') this.#queued(walk.id, data as unknown as EventData['task.queued'])
    const watched = this.#watched.get(walk.id)
    if (watched === undefined) return
    watched.lastSeq = seq
    switch (type) {
      case 'task.started':
        watched.startedSeq = seq
        return
      case 'task.requeued':
        return this.#requeued(watched, walk, seq, data as unknown as EventData['task.requeued'])
      case 'task.failed': {
        this.#failed(watched, walk, data)
        const { code, message = '' } = (data['error'] ?? {}) as { code?: string; message?: string }
        watched.end = { type, cause: this.#causeOf(watched, message, code) }
        return
      }
      case 'task.completed':
        watched.end = { type, output: data['output'] }
        return this.#completed(watched, walk.id, data['output'])
      case 'task.canceled':
        watched.end = { type, cause: { parts: ['crash'], isFinal: true } }
        return
      case 'child.spawned':
      case 'child.inherited':
        return this.#calls(watched, walk.id, data)
      case 'approval.requested':
        return this.#asks(watched, walk.id, String(data['key']))
      case 'task.resumed':
      case 'wait.resolved':
        return this.#resolved(watched, walk, seq, data)
      default:
    }
  }

  /** A handler begins: it is the right one to ask, and is told how the try before failed. */
  begins(found: Followed | undefined, { fence, model, failure }: RecoveringPass): void {
    const watched = found === undefined ? undefined : this.#watched.get(found.row.id)
    if (found === undefined || watched === undefined) return
    const { row } = found
    // One that has lost its lease may know less.
    if (row.state !== RUNNING || row.fence !== fence) return
    const { failure: failed, crash, asked, table } = watched
    const other = otherOf(watched)
    if (other !== undefined)
      this.#violated(`task ${row.id} runs its own handler, it was handed over to '${other.task}'`)
    if (hasRefused(watched)) this.#violated(`task ${row.id} runs after the no of a person`)
    for (const past of [failed, crash]) {
      const choice = past === crash ? crash && table.crash : past?.strategy
      const isAllowed =
        past === undefined ||
        choice === 'restart' ||
        choice?.startsWith('retry') === true ||
        (choice === 'fallback_agent' && (past === failed || nextAgent(watched) === undefined)) ||
        (choice === 'human_escalation' && asked.get(past.seq) === 'approved')
      if (!isAllowed)
        this.#violated(
          `task ${row.id} runs after event ${past?.seq}, the table says ${choice} of ${past?.category}`,
        )
    }
    if (model !== watched.model)
      this.#violated(`task ${row.id} runs with the model ${model}, not ${watched.model}`)
    // What came since may have come before it looked, or after.
    if (watched.lastSeq !== watched.startedSeq) return
    const due = this.#due(watched, row.attempt)
    const shown = (it: Omit<Past, 'seq'> | undefined) =>
      it === undefined ? 'nothing' : `${it.category} of attempt ${it.attempt}, ${it.strategy}`
    if (shown(failure) !== shown(due))
      this.#violated(`task ${row.id} is told of ${shown(failure)}, it was ${shown(due)}`)
  }

  #queued(task: number, { type, model }: EventData['task.queued']): void {
    const terms = recoveryTerms[type] ?? handOverTerms[type]
    if (terms === undefined) return
    this.#watched.set(task, {
      ...terms,
      model,
      failure: undefined,
      crash: undefined,
      rejectedSeq: 0,
      rejections: 0,
      interrupted: 0,
      asked: new Map(),
      startedSeq: 0,
      lastSeq: 0,
      handedOver: undefined,
      handOvers: 0,
      end: undefined,
    })
  }

  #requeued(watched: Watched, walk: Walk, seq: number, it: EventData['task.requeued']): void {
    const { id: task, attempt } = walk
    if (it.reason === 'expired' || it.reason === 'owner_dead') {
      watched.crash = { seq, attempt, category: 'crash', strategy: 'restart' }
      return
    }
    if (it.reason !== 'retry') return
    if (it.interrupted === true) {
      watched.interrupted += 1
      return
    }
    const { recovery: decided, dueAt } = it
    const { message = '', code } = (it.error ?? {}) as { message?: string; code?: string }
    const isOfCrash = code === 'lease_lost' && watched.crash !== undefined
    const due = isOfCrash
      ? { strategy: watched.table.crash, categories: ['crash'] }
      : answerTo(watched, this.#causeOf(watched, message, code), walk)
    if (decided === undefined || due === undefined)
      return this.#violated(
        `task ${task} is tried again after '${message}', decided is ${decided?.strategy}, due is ${due?.strategy}`,
      )
    this.#findings.count('recoveries')
    if (decided.strategy !== due.strategy || !due.categories.includes(decided.category))
      this.#violated(
        `task ${task}, '${message}': ${decided.category} gets ${decided.strategy}, due is ${due.strategy}`,
      )
    const next = due.strategy === 'fallback_agent' ? nextAgent(watched) : undefined
    const { model, other } = next ?? {}
    if (decided.model !== model || decided.task !== other)
      this.#violated(`task ${task} falls back to ${decided.model ?? decided.task}, not ${model ?? other}`)
    if (watched.handedOver !== undefined) watched.handedOver.isOver = true
    if (other !== undefined) {
      watched.handOvers += 1
      watched.handedOver = { task: other, nth: watched.handOvers, child: undefined, isOver: false }
      this.#findings.count('hand-overs')
    }
    if ((dueAt === undefined) === (due.strategy === 'retry_with_backoff'))
      this.#violated(`task ${task} is tried again by ${due.strategy}, it waits until ${dueAt}`)
    watched.model = model ?? watched.model
    watched.failure = { seq, attempt, category: decided.category, strategy: decided.strategy }
    watched.crash = undefined
  }

  #failed(watched: Watched, { id: task, ...walk }: Walk, data: Record<string, unknown>): void {
    const kind = String(data['kind'])
    if (kind === 'poisoned' || kind === 'budget_exceeded') return
    const { message = '', code } = (data['error'] ?? {}) as { message?: string; code?: string }
    const { crash, table, rejections } = watched
    const isRefused = hasRefused(watched)
    const isEnd =
      isRefused ||
      (code === 'lease_lost' && crash !== undefined && table.crash === 'fail') ||
      (kind === 'not_approved' &&
        rejections >= this.#most(watched, /^'(.+)' was /.exec(message)?.[1] ?? '')) ||
      (kind !== 'not_approved' &&
        answerTo(watched, this.#causeOf(watched, message, code), walk) === undefined)
    if (!isEnd)
      this.#violated(`task ${task} failed (${kind}): '${message}', its table has another try for it`)
  }

  /** The other task is called once, and as what was decided says. */
  #calls(watched: Watched, task: number, { key, taskId, type }: Record<string, unknown>): void {
    const nth = handedOverIn(String(key))
    if (nth === undefined) return
    const other = otherOf(watched)
    if (other?.nth !== nth || other.task !== type || other.child !== undefined)
      return this.#violated(
        `task ${task} calls '${String(type)}' as hand-over ${nth}, due is ${other?.task} as ${other?.nth}, called as ${other?.child}`,
      )
    other.child = this.#numberOf(String(taskId))
  }

  /** What the other task has given is what the task gives. */
  #completed(watched: Watched, task: number, output: unknown): void {
    const other = otherOf(watched)
    if (other === undefined) return
    const end = this.#watched.get(other.child ?? 0)?.end
    if (end?.type !== 'task.completed' || JSON.stringify(end.output) !== JSON.stringify(output))
      this.#violated(`task ${task} completed, the task that it was handed over to is ${end?.type}`)
  }

  /** What has failed: in the other task, where that has ended. Of several parts of its failure the first is recorded. */
  #causeOf(watched: Watched, message: string, code: string | undefined): Cause {
    const end = this.#watched.get(otherOf(watched)?.child ?? 0)?.end
    if (end?.cause !== undefined) return { ...end.cause, parts: end.cause.parts.slice(0, 1) }
    const planned = plannedParts(message)
    if (planned !== undefined) return { parts: planned, isFinal: false }
    switch (code) {
      case 'invalid_output':
        return { parts: ['invalid_output'], isFinal: false }
      case 'not_approved':
        return { parts: ['human_rejection'], isFinal: true }
      case 'budget_exceeded':
        return { parts: ['resource_exhaustion'], isFinal: true }
      case 'poisoned':
        return { parts: ['crash'], isFinal: true }
      default:
        return { parts: [], isFinal: false }
    }
  }

  /** How often the work that a request shows may be rejected. */
  #most({ table }: Watched, key: string): number {
    return table.human_rejection === 'fail' ? 0 : mostRejections(key)
  }

  /** A person is asked once about each failure that is for a person. */
  #asks(watched: Watched, task: number, key: string): void {
    const seq = escalated(key)
    if (seq === undefined) return
    this.#findings.count('asked after failures')
    const { failure, crash, asked, table } = watched
    const isDue =
      !hasRefused(watched) &&
      ((failure?.seq === seq && failure.strategy === 'human_escalation') ||
        (crash?.seq === seq && table.crash === 'human_escalation'))
    if (!isDue || asked.has(seq)) this.#violated(`task ${task} asks a person about its event ${seq}`)
    asked.set(seq, 'open')
  }

  #resolved(watched: Watched, { id: task, attempt }: Walk, seq: number, data: Record<string, unknown>): void {
    const { key, kind, outcome, since, escalates } = data as { key?: string } & Record<string, unknown>
    const other = otherOf(watched)
    if (other !== undefined && key !== undefined && !key.includes(HAND_OVER))
      this.#violated(`task ${task} has the end of '${key}', it was handed over to '${other.task}'`)
    if (kind !== 'approval') return
    const about = escalated(String(key))
    if (about !== undefined) {
      watched.asked.set(about, outcome === 'approved' ? 'approved' : 'rejected')
      return
    }
    if (outcome === 'approved' || outcome === 'passed') watched.rejections = 0
    if (outcome !== 'rejected') return
    watched.rejections += 1
    if (since !== undefined) watched.rejectedSeq = seq
    const isTooMuch = watched.rejections > this.#most(watched, String(key))
    const isForPeople = watched.table.human_rejection === 'human_escalation'
    if ((escalates === true) !== (isTooMuch && isForPeople))
      this.#violated(
        `task ${task} was rejected ${watched.rejections} times, a person is ${escalates === true ? '' : 'not '}asked`,
      )
    if (escalates !== true) return
    watched.failure = { seq, attempt, category: 'human_rejection', strategy: 'human_escalation' }
    watched.crash = undefined
  }

  /** What the next try is told. */
  #due({ failure, crash, asked, rejectedSeq }: Watched, attempt: number): Omit<Past, 'seq'> | undefined {
    const isAsked = crash !== undefined && asked.get(crash.seq) === 'approved'
    const past = isAsked ? crash : (failure ?? crash)
    if (rejectedSeq > (past?.seq ?? 0))
      return { category: 'human_rejection', strategy: 'retry_with_feedback', attempt }
    if (past === undefined) return undefined
    return { ...past, ...(asked.has(past.seq) ? { strategy: 'human_escalation' } : {}) }
  }

  #violated(text: string): void {
    this.#findings.violated('14.3', text)
  }
}

/** What has failed in a try. */
interface Cause {
  readonly parts: readonly FailureCategory[]
  /** The error says that trying again cannot help. */
  readonly isFinal: boolean
}

/** A person wants no further try: that is final. */
function hasRefused({ asked }: Watched): boolean {
  return [...asked.values()].includes('rejected')
}

/** The strongest answer that the table has for the parts of a failure; undefined where it is the end. */
function answerTo(
  watched: Watched,
  { parts, isFinal }: Cause,
  { attempt, crashes }: Pick<Walk, 'attempt' | 'crashes'>,
): { readonly strategy: RecoveryChoice; readonly categories: readonly string[] } | undefined {
  const choices = parts.map((part) => {
    const choice = watched.table[part]
    if (choice === 'human_escalation') return choice
    const isLast =
      choice === 'fallback_agent'
        ? nextAgent(watched) === undefined
        : isFinal || attempt - crashes - watched.interrupted >= MAX_ATTEMPTS
    return isLast ? 'fail' : choice
  })
  const strategy = strengths.findLast((strength) => choices.includes(strength)) ?? 'fail'
  if (strategy === 'fail') return undefined
  return { strategy, categories: parts.filter((_, at) => choices[at] === strategy) }
}

/** The next model, or once, after the last one, another task. */
function nextAgent({
  models,
  model: current,
  other,
  handedOver,
}: Watched): { readonly model?: string; readonly other?: string } | undefined {
  if (handedOver !== undefined) return undefined
  const model = models[current === undefined ? 0 : models.indexOf(current) + 1]
  if (model !== undefined) return { model }
  return other === undefined ? undefined : { other }
}

/** The task that has the work now. */
function otherOf(watched: Watched | undefined): Other | undefined {
  const { handedOver } = watched ?? {}
  return handedOver?.isOver === true ? undefined : handedOver
}

const HAND_OVER = '$ku0/hand-over/'

/** Which hand-over a child is. */
function handedOverIn(key: string): number | undefined {
  return key.startsWith(HAND_OVER) ? Number(key.slice(HAND_OVER.length)) : undefined
}

/** The event that a question is about. */
function escalated(key: string): number | undefined {
  const seq = /^\$ku0\/escalation\/(\d+)$/.exec(key)?.[1]
  return seq === undefined ? undefined : Number(seq)
}
