import { invalid, RuntimeError, show, StoreError } from '@ku0/agent-runtime-core'
import { tlsRemedy } from './tls-errors.ts'

export function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** Whether the connection is gone, or could not be made. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error)
  if (/^(?:08|57P0|25P0[34]|53300|E[A-Z]+)/.test(code)) return true
  return error instanceof Error && code === '' && /connection|timeout|closed/i.test(error.message)
}

/** Whether the transaction left no trace, and may be tried again as it is. */
export function isPassing(error: unknown): boolean {
  return !(error instanceof RuntimeError) && (isLost(error) || isHeldUp(error) || passing.has(codeOf(error)))
}

/** Whether others held a lock for too long, or wrote at the same time: serialization, deadlock, lock and statement timeouts, another's commit. */
export function isHeldUp(error: unknown): boolean {
  const code = codeOf(error)
  return busy.test(code) || code === headMoved
}

const busy = /^(?:40001|40P01|55P03|57014)$/

/** The code of the error by which a transaction ends that finds a row other than it was decided on. */
export const rowChanged = 'KU001'

/** The code of the error by which a transaction ends whose head another process has moved. */
export const headMoved = 'KU002'

/** The code of what is asked in a transaction that has failed. */
export const failedBefore = '25P02'

/** The code of the error by which a transaction ends on a server that takes no writes. */
export const readOnly = '25006'

/** A standby, which may be promoted; a statement that was to be prepared in a transaction which failed, or that was sent behind one. */
const passing: ReadonlySet<string> = new Set(['26000', failedBefore, readOnly])

/** PostgreSQL's error as the store's: a code to act upon, the place, and what to do. */
export function storeErrorOf(cause: unknown, location: string): Error {
  if (cause instanceof RuntimeError) return cause
  const code = codeOf(cause)
  const detail = cause instanceof Error ? cause.message : String(cause)
  const error = (as: ConstructorParameters<typeof StoreError>[0], text: string) =>
    new StoreError(as, `${location}${text}`, { cause })
  const file = unreadFile(cause)
  if (file !== undefined)
    return invalid(
      `${location}: the file ${show(file)}, which the URL names, cannot be read (${detail}); correct sslrootcert, sslcert or sslkey`,
    )
  const remedy = tlsRemedy(code, detail)
  if (remedy !== undefined)
    return error('store_unavailable', `: no encrypted connection (${detail}); ${remedy}`)
  if (code === '53300')
    return error(
      'store_unavailable',
      ` has no connection left (${detail}); raise max_connections or the limit of the role: a process takes three`,
    )
  if (isLost(cause))
    return error('store_unavailable', ` cannot be reached (${detail}); check the URL and the server`)
  if (code === rowChanged)
    return error(
      'store_corrupt',
      `: something else writes these tables (${detail}); stop it, then run verify`,
    )
  if (code === '28P01' || code === '28000' || code === '3D000')
    return new StoreError(
      'store_unavailable',
      `${location}: PostgreSQL refuses the connection (${detail}); correct the URL${/no encryption/.test(detail) ? ', which may need sslmode=verify-full' : ''}`,
      { cause, details: { sqlState: code } },
    )
  if (code === '42501')
    return error(
      'store_read_only',
      `: the role may not do that (${detail}); grant what docs/postgresql.md lists`,
    )
  if (code === readOnly)
    return error(
      'store_read_only',
      `: this server takes no writes, as a standby does (${detail}); name the primary in the URL`,
    )
  if (code === '53100' || code === '53200')
    return error('store_full', `: the server has no room (${detail}); free some, then try again`)
  if (/^(?:42P01|42703|42883|42P07)$/.test(code))
    return error(
      'store_schema',
      `: the schema's tables are not those of this version (${detail}); name another schema, or restore a backup`,
    )
  if (code.startsWith('XX'))
    return error('store_corrupt', `: PostgreSQL reports damage (${detail}); restore a backup`)
  if (busy.test(code)) return error('store_busy', ` is busy (${detail}); try again`)
  return new RuntimeError(
    'internal',
    `${location}: a check failed, and nothing was written (${detail}); run verify: if it finds no fault, this is a bug of the runtime`,
    { cause },
  )
}

/** The file that could not be opened: the driver reads certificates itself. */
function unreadFile(cause: unknown): string | undefined {
  const { path, syscall } = (cause ?? {}) as { readonly path?: unknown; readonly syscall?: unknown }
  return typeof path === 'string' && (syscall === 'open' || syscall === 'read') ? path : undefined
}
