import { ApiError, type ServerInfo } from '@ku0/agent-runtime-client'
import type { Inspection, Problem, ServerReport } from '@ku0/agent-runtime-persistence'
import { clientOfServer } from '../remote.ts'
import { dated, lasting } from '../screen/words.ts'
import type { System } from '../system.ts'

/** A server as whoever asks it finds it, and its store, as far as the token allows. */
export interface ServerFindings {
  /** Nothing that was promised does not hold. */
  readonly ok: boolean
  readonly url: string
  readonly answeredInMs: number
  readonly info: ServerInfo
  /** By how much its clock is ahead of this machine's; 0 where the time of the answer hides it. */
  readonly clockOffsetMs: number
  /** Null if the token may not ask. */
  readonly workers: {
    readonly registered: number
    /** Seen within the last minute. */
    readonly fresh: number
    readonly slots: number
    readonly busy: number
  } | null
  /** Null if the token may not ask. */
  readonly tasks: {
    readonly queued: number
    readonly delayed: number
    readonly running: number
    readonly waiting: number
  } | null
  /** The server's own look at its store; null if it has none for this token. */
  readonly inspection: Inspection | ServerReport | null
  /** Why there is none. */
  readonly notInspected: string | null
  readonly problems: readonly Problem[]
}

/** Looks at a server and, with the scope admin, lets it look at its store. */
export async function examineServer(
  { server, token }: { readonly server: string; readonly token: string | undefined },
  system: System,
): Promise<ServerFindings> {
  const client = clientOfServer(server, token)
  const askedAt = system.now()
  const info = await client.serverInfo()
  const answeredInMs = system.now() - askedAt
  const ahead = Math.round(info.at - askedAt - answeredInMs / 2)
  // The server read its clock somewhere between the question and the answer.
  const clockOffsetMs = Math.abs(ahead) <= answeredInMs / 2 ? 0 : ahead
  const [known, stats, seen] = await Promise.all([
    ifAllowed(client.workers()),
    ifAllowed(client.stats()),
    inspected(client.inspectStore()),
  ])
  const workers = known && {
    registered: known.length,
    fresh: known.filter(({ lastSeenAt }) => info.at - lastSeenAt < FRESH_MS).length,
    slots: known.reduce((sum, { capacity }) => sum + capacity, 0),
    busy: known.reduce((sum, { inFlight }) => sum + inFlight, 0),
  }
  const tasks = stats && {
    queued: Object.values(stats.depth).reduce((sum, depth) => sum + depth, 0),
    delayed: stats.delayed,
    running: stats.running,
    waiting: stats.waiting,
  }
  const found = { info, clockOffsetMs, workers, tasks }
  const { inspection, notInspected } = seen
  return {
    ok: inspection?.ok ?? true,
    url: server,
    answeredInMs,
    ...found,
    inspection,
    notInspected,
    problems: [...problemsIn(found)],
  }
}

/** A worker that was not seen for longer is no sign of life. */
const FRESH_MS = 60_000
/** As the doctor of a file takes it. */
const MAX_OFFSET_MS = 10_000
const SOON_MS = 7 * 86_400_000

function* problemsIn({
  info: { at, token },
  clockOffsetMs,
  workers,
  tasks,
}: Pick<ServerFindings, 'info' | 'clockOffsetMs' | 'workers' | 'tasks'>): Iterable<Problem> {
  if (Math.abs(clockOffsetMs) > MAX_OFFSET_MS)
    yield {
      level: 'warning',
      message: `the clock of the server is ${offsetText(clockOffsetMs)}`,
      remedy: 'Check the time service of both. Leases do not depend on it; due times and dates do.',
    }
  if (workers?.fresh === 0 && (workers.registered > 0 || (tasks?.queued ?? 0) > 0))
    yield {
      level: 'warning',
      message:
        workers.registered > 0
          ? 'no worker was seen within the last minute'
          : 'tasks are queued, and no worker is registered',
      remedy: 'Start one: agent-runtime worker, with the store or the server as its --store.',
    }
  if (token?.expiresAt !== undefined && token.expiresAt - at < SOON_MS)
    yield {
      level: 'warning',
      message: `the token ${token.name} ends on ${dated(token.expiresAt)}`,
      remedy: 'Make another one with agent-runtime token create.',
    }
}

/** The same in words. */
export function offsetText(ms: number): string {
  if (ms === 0) return 'that of this machine'
  return `${lasting(Math.abs(ms))} ${ms > 0 ? 'ahead of' : 'behind'} that of this machine`
}

async function ifAllowed<Found>(asked: Promise<Found>): Promise<Found | null> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ApiError && error.code === 'forbidden') return null
    throw error
  }
}

async function inspected(
  asked: Promise<unknown>,
): Promise<Pick<ServerFindings, 'inspection' | 'notInspected'>> {
  try {
    // The server's answer is that of the same call, which tests hold.
    return { inspection: (await asked) as Inspection | ServerReport, notInspected: null }
  } catch (error) {
    // A store that is not there is `not_found`, which is a finding and no answer of a server that cannot look.
    if (!(error instanceof ApiError) || !mayNotLook.has(error.status) || error.code === 'not_found')
      throw error
    return { inspection: null, notInspected: error.message }
  }
}

/** The answers of a server that does not look at its store for this token, or at all. */
const mayNotLook: ReadonlySet<number> = new Set([401, 403, 404, 501])
