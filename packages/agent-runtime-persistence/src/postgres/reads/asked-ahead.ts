import type { ExecutionConfig } from '@ku0/agent-runtime-core'
import type { Loaded, Wanted } from '@ku0/agent-runtime-core/transition'
import type { Found, Statement } from '../connection/statement.ts'
import { HeadsAhead } from './heads-ahead.ts'
import type { Questions } from './questions.ts'

/** Statements that cross with others, and what takes their answers. */
interface Ahead {
  readonly statements: readonly Statement[]
  take(found: readonly Found[]): void
}

/**
 * What is kept of all processes, and which tasks are next, is nearly always read again after a commit of others. So it is asked for with what tells
 * of one.
 */
export class AskedAhead {
  private readonly questions: Questions
  private readonly heads = new HeadsAhead()
  private isOver = false

  constructor(questions: Questions) {
    this.questions = questions
  }

  /** As a transaction begins. `since`: the last commit that this process has seen; undefined where that cannot be told. */
  begin(since: number | undefined, { shares }: ExecutionConfig): Ahead {
    const { questions } = this
    const { asking } = questions
    if (since === undefined || this.isOver) return asking.first(() => undefined)
    const heads = this.heads.begin()
    const wanted = {
      since,
      shares: shares !== undefined,
      dominant: shares?.dominant !== undefined,
      held: new Map(),
    }
    const readHeads = () => questions.loaded({ heads })
    const reads = [() => questions.kept(wanted, new Set()), ...(heads.length === 0 ? [] : [readHeads])]
    const first = asking.first(() => asking.ahead<() => unknown>(reads, (read) => read()))
    return {
      statements: first.statements,
      take: (found) => {
        first.take(found)
        if (heads.length > 0) this.heads.take(readHeads())
      },
    }
  }

  /** What the answers to it tell of `wanted`, if that is all. */
  answer(wanted: Wanted): Loaded | undefined {
    return this.heads.answer(wanted)
  }

  /** The answers hold no more. */
  forget(): void {
    this.questions.asking.forget()
    this.heads.forget()
  }

  /** The tables are perhaps those of a later program, and what it says of that is to be read without them. Returns whether anything was asked until now. */
  stop(): boolean {
    const { isOver } = this
    this.isOver = true
    return !isOver
  }
}
