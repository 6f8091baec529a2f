import type { Clock } from '@ku0/agent-runtime-core'
import type { CommitSession } from './commit-session.ts'
import type { Connections } from './connections.ts'
import { isPassing } from './errors.ts'

interface AnsweredParts {
  readonly link: CommitSession
  readonly connections: Connections
  readonly clock: Clock
  /** True once there is a connection of which use may be made. */
  readonly connect: () => Promise<boolean>
}

/** Asks what is told of a commit that stands. Where the connection is lost, it asks on a new one, and gives up after a minute. */
export async function untilAnswered<T>(
  ask: () => Promise<T>,
  { link, connections, clock, connect }: AnsweredParts,
): Promise<T> {
  for (const latest = clock.monotonic() + answeredMs; ;) {
    if (await connect()) {
      const { session } = link
      try {
        return await ask()
      } catch (error) {
        if (!isPassing(error)) throw error
        link.failed(error)
        session.drop()
      }
    } else await connections.pause(Math.max(leastPauseMs, link.retryMs))
    if (link.isClosed || clock.monotonic() >= latest) throw link.refusal(answeredMs)
  }
}

const answeredMs = 60_000
const leastPauseMs = 20
