import { type ErrorCode, isErrorCode } from '@ku0/agent-runtime-core'

/** The exit codes of the command `agent-runtime`; a signal adds 128. Source: `docs/operating.md`, Commands. */
export const cliExitCodes = {
  /** Done, and nothing is wrong. */
  ok: 0,
  /** A task failed or was refused, `check` found something, or the command failed and none of the others says why. */
  failed: 1,
  /** It was called or configured wrongly; nothing was done. */
  usage: 2,
  /** The store is damaged, has lost commits, or is no store; or `doctor` found an error. */
  damaged: 65,
  /** There is no such store or task. */
  missing: 66,
  /** The target of a backup exists, or there is no room or folder for it. */
  cannotCreate: 73,
  /** The disk has failed. */
  io: 74,
  /** The store was busy or its server could not be reached, or something has not ended in time: try again. */
  busy: 75,
  /** This user may not read it, or not write there; or the server refuses the token or the role. */
  denied: 77,
  /** Another version is needed: of the program, of Node, or of the store. */
  version: 78,
} as const

/** The exit code for an error that was thrown. */
export function exitCodeOf(error: unknown): number {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  // A task's end has the code of whatever ended it, which says nothing about this command.
  if (typeof name === 'string' && endsOfTasks.has(name)) return cliExitCodes.failed
  if (code === 'unauthenticated' || code === 'forbidden') return cliExitCodes.denied
  // A code of servers only.
  if (code === 'too_many_requests') return cliExitCodes.busy
  if (code === 'store_unavailable') return byServer.get(sqlStateOf(error)) ?? cliExitCodes.busy
  return (isErrorCode(code) ? byCode.get(code) : undefined) ?? cliExitCodes.failed
}

/** Why PostgreSQL refused a connection: the role, or the database. */
const byServer: ReadonlyMap<unknown, number> = new Map([
  ['28P01', cliExitCodes.denied],
  ['28000', cliExitCodes.denied],
  ['3D000', cliExitCodes.missing],
])

function sqlStateOf(error: unknown): unknown {
  const { details } = error as { readonly details?: { readonly sqlState?: unknown } }
  return details?.sqlState
}

const endsOfTasks: ReadonlySet<string> = new Set([
  'TaskFailed',
  'TaskCanceled',
  'TaskRejected',
  'TaskDiverged',
])

const byCode: ReadonlyMap<ErrorCode, number> = new Map<ErrorCode, number>([
  ['invalid_argument', cliExitCodes.usage],
  ['invalid_config', cliExitCodes.usage],
  ['timeout', cliExitCodes.busy],
  ['store_corrupt', cliExitCodes.damaged],
  ['store_data_loss', cliExitCodes.damaged],
  ['store_not_a_database', cliExitCodes.damaged],
  ['not_found', cliExitCodes.missing],
  ['already_exists', cliExitCodes.cannotCreate],
  ['store_folder_missing', cliExitCodes.cannotCreate],
  ['store_full', cliExitCodes.cannotCreate],
  ['store_io', cliExitCodes.io],
  ['store_unlinked', cliExitCodes.io],
  ['store_busy', cliExitCodes.busy],
  ['store_read_only', cliExitCodes.denied],
  ['store_newer', cliExitCodes.version],
  ['store_schema', cliExitCodes.version],
  ['node_unsupported', cliExitCodes.version],
])
