import type { Change, Changed, runAll, Verdict } from './judge.ts'

/** The worker that holds the tests is asked to run all of them, to judge a change, to run one without a change, or to end. */
export type Asked = 'all' | 'end' | Change | { readonly unchanged: string }

export type Answer = 'ready' | Verdict | All | { readonly why?: string | undefined }

export interface All {
  readonly results: Awaited<ReturnType<typeof runAll>>
  readonly coverage: Changed['mutantCoverage']
}

/** Between a process and its worker. */
export const channelOf = (): BroadcastChannel => new BroadcastChannel('ku0-stryker')

/** Asks one thing at a time. The end of the other side is an error of whatever is asked then, or later. */
export class Asker {
  readonly #post: (asked: Asked) => void
  #pending: PromiseWithResolvers<Answer> | undefined
  #end: Error | undefined

  constructor(post: (asked: Asked) => void) {
    this.#post = post
  }

  /** The answer to what is asked; without anything, the next one. */
  async ask(asked?: Asked): Promise<Answer> {
    if (this.#end !== undefined) throw this.#end
    this.#pending = Promise.withResolvers()
    if (asked !== undefined) this.#post(asked)
    return await this.#pending.promise
  }

  answered(answer: Answer): void {
    this.#pending?.resolve(answer)
  }

  ended(why: Error): void {
    this.#end = why
    this.#pending?.reject(why)
  }
}
