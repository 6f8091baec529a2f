import type { StoreClock } from './clock.ts'
import type { Connections } from '../connection/connections.ts'
import { type DueTimes, lookText } from './due-times.ts'
import type { Presence } from './presence.ts'
import type { Session } from '../connection/session.ts'
import { question } from '../connection/statement.ts'

interface LooksParts {
  readonly connections: Connections
  readonly presence: Presence
  readonly clock: StoreClock
  readonly due: DueTimes
  /** The version of the store that the last commit left of which this process knows that it stands. */
  readonly version: () => number
}

/** Looks for what other processes have committed. */
export class Looks {
  private readonly it: LooksParts
  /** When the server is asked again, whatever is heard. */
  private nextAt = 0

  constructor(it: LooksParts) {
    this.it = it
  }

  /**
   * One question, when another process was heard of or was not for a while; none where it said what it has committed. Returns whether others have
   * committed.
   */
  async look(session: Session, mono: number): Promise<boolean> {
    const { connections, presence, clock, due, version } = this.it
    const [isHinted, isTold] = [presence.takeHint(), presence.takeTold() > version()]
    if (!isHinted && !isTold && mono < this.nextAt) return false
    const asked = presence.question(mono, clock.now().at)
    // The transaction that follows sees it.
    if (!isHinted && asked.length === 0 && mono < this.nextAt) return true
    this.nextAt = mono + presence.lookMs
    const [head, others] = await session.batch([question(connections.qualified(lookText)), ...asked])
    const [stored, at, ...times] = head?.rows[0] ?? []
    clock.tell(at as number)
    due.take(times)
    if (others !== undefined) {
      presence.take(others, mono)
      // Who may be dead is looked at again soon.
      this.nextAt = mono + presence.lookMs
    }
    return stored !== version()
  }
}
