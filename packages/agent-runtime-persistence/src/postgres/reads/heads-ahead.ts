import type { Kinds, Loaded, Wanted } from '@ku0/agent-runtime-core/transition'

type HeadsWanted = Kinds['heads']['name']
type HeadsFound = Kinds['heads']['found']

/**
 * The first tasks of the streams from which this process claimed last, asked for together with what tells of the commits of others: nearly always
 * such a commit has changed them, and a trip of its own would follow. Where a flush has no use for them twice, they are no longer asked for until one
 * wants a stream again that the one before it wanted.
 */
export class HeadsAhead {
  /** By stream: what the last transaction wanted that wanted any. */
  private wanted = new Map<number, HeadsWanted>()
  /** The same of this transaction until now: it may want one stream after the other. */
  private wants = new Map<number, HeadsWanted>()
  private inVain = 0
  private readonly found = new Map<number, HeadsFound>()

  /** What to ask for as a transaction begins. What the one before it was told holds no more. */
  begin(): readonly HeadsWanted[] {
    this.forget()
    if (this.wanted.size === 0) return []
    this.inVain += 1
    return this.inVain > mostInVain ? [] : [...this.wanted.values()]
  }

  /** A transaction begins of which nothing is known ahead. */
  forget(): void {
    this.found.clear()
    if (this.wants.size === 0) return
    this.wanted = this.wants
    this.wants = new Map()
  }

  take({ heads = [] }: Loaded): void {
    for (const it of heads) this.found.set(it.stream, it)
  }

  /** A flush wants these. Returns them if they are all here; fewer rows than it asked for are the first of them. */
  answer({ heads, ...rest }: Wanted): Loaded | undefined {
    if (heads === undefined || heads.length > mostStreams) return undefined
    if (heads.every(({ stream, after }) => after === 0 && this.wanted.has(stream))) this.inVain = 0
    const found = heads.flatMap(({ stream, after }) => (after === 0 ? (this.found.get(stream) ?? []) : []))
    for (const { stream, limit } of heads) {
      this.found.delete(stream)
      if (this.wants.size < mostStreams && !this.wants.has(stream))
        this.wants.set(stream, { stream, after: 0, limit })
    }
    return found.length === heads.length && Object.keys(rest).length === 0 ? { heads: found } : undefined
  }
}

/** A task that ends between two that are claimed begins a transaction, too. */
const mostInVain = 2
/** Clients have a stream each, and there may be many. */
const mostStreams = 8
