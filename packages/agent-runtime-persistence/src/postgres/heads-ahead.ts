import type { Kinds, Loaded, Wanted } from '@ku0/agent-runtime-core/transition'

type HeadsWanted = Kinds['heads']['name']
type HeadsFound = Kinds['heads']['found']

/**
 * The first tasks of the streams from which this process claimed last, asked for together with what tells of the commits of others: nearly always
 * such a commit has changed them, and a trip of its own would follow. Where a flush has no use for them twice, they are no longer asked for.
 */
export class HeadsAhead {
  private wanted: readonly HeadsWanted[] = []
  private inVain = 0
  private readonly found = new Map<number, HeadsFound>()

  /** What to ask for as a transaction begins. What the one before it was told holds no more. */
  begin(): readonly HeadsWanted[] {
    this.found.clear()
    if (this.wanted.length > 0 && (this.inVain += 1) > mostInVain) this.wanted = []
    return this.wanted
  }

  /** Nothing is known ahead. */
  forget(): void {
    this.found.clear()
  }

  take({ heads = [] }: Loaded): void {
    for (const it of heads) this.found.set(it.stream, it)
  }

  /** A flush wants these. Returns them if they are all here; fewer rows than it asked for are the first of them. */
  answer({ heads, ...rest }: Wanted): Loaded | undefined {
    if (heads === undefined || heads.length > mostStreams) return undefined
    this.wanted = heads.map(({ stream, limit }) => ({ stream, after: 0, limit }))
    this.inVain = 0
    const found = heads.flatMap(({ stream, after }) => (after === 0 ? (this.found.get(stream) ?? []) : []))
    this.found.clear()
    return found.length === heads.length && Object.keys(rest).length === 0 ? { heads: found } : undefined
  }
}

/** A task that ends between two that are claimed begins a transaction, too. */
const mostInVain = 2
/** Clients have a stream each, and there may be many. */
const mostStreams = 8
