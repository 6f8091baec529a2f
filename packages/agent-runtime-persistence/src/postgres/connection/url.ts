import { invalid, show, suggestionFor } from '@ku0/agent-runtime-core'

/** Where a store on PostgreSQL is, and how it is reached. */
export interface PostgresPlace {
  /** For the driver: without what is meant for the store. */
  readonly connectionString: string
  /** Without a password. */
  readonly location: string
  readonly schema: string
  readonly applicationName: string
  /** Whether a session stays on one server process: not behind a pooler that hands connections on after each transaction. */
  readonly hasSessions: boolean
}

/** Whether a store's URL names PostgreSQL. */
export function isPostgresUrl(url: unknown): url is string {
  return typeof url === 'string' && /^postgres(?:ql)?:\/\//i.test(url.trim())
}

/**
 * Reads `postgres://user:password@host:port/database?schema=…`. What it says besides is for the driver: `sslmode`, `sslrootcert`,
 * `application_name`, `options`, `connect_timeout`. Throws `invalid_argument`, without the password, also for a name that is nearly one of ours.
 */
export function parsePostgresUrl(given: string): PostgresPlace {
  const url = URL.parse(given.trim().replace(/^postgresql:/i, 'postgres:'))
  if (url === null) throw unreadable('it is no URL', given)
  refuseMisspelt(url.searchParams, given)
  const own = (name: string) => {
    const values = url.searchParams.getAll(name)
    if (values.length > 1) throw unreadable(`it says ${name} twice`, given)
    url.searchParams.delete(name)
    return values[0]
  }
  const schema = own('schema') ?? 'agent_runtime'
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema) || schema.startsWith('pg_'))
    throw unreadable(
      `a schema's name is a small letter or _, then small letters, digits and _, 63 characters at most, and does not begin with pg_; given ${show(schema)}`,
      given,
    )
  checkTls(url.searchParams, given)
  const pooler = own('pooler')
  if (pooler !== undefined && pooler !== 'transaction' && pooler !== 'none')
    throw unreadable(`pooler is transaction or none; given ${show(pooler)}`, given)
  const applicationName = own('application_name') ?? 'agent-runtime'
  const database = url.pathname.slice(1)
  if (database === '') throw unreadable('it names no database', given)
  const port = url.port === '' ? '' : `:${url.port}`
  return {
    connectionString: url.href,
    location: `postgres://${url.hostname}${port}/${database}?schema=${schema}`,
    schema,
    applicationName,
    hasSessions: pooler !== 'transaction',
  }
}

/** The driver takes any name: a schema that is misspelt would lead to another store. */
function refuseMisspelt(query: URLSearchParams, given: string): void {
  for (const name of query.keys()) {
    const meant = suggestionFor(name, guarded)
    if (meant !== undefined && meant !== name && !ofDriver.has(name))
      throw unreadable(`it has no option ${show(name)}, did you mean ${meant}?`, given)
  }
}

/** Names that decide where the store is, and how it is reached. */
const guarded: readonly string[] = ['schema', 'pooler', 'application_name', 'sslmode', 'sslrootcert']
/** Names of the driver that are near to them. */
const ofDriver: ReadonlySet<string> = new Set(['sslcert', 'sslkey', 'sslcrl', 'fallback_application_name'])

/**
 * The driver takes any word for `sslmode`, and will take `require` for less than it does now: so those that check the certificate now are handed
 * to it as the one that always does.
 */
function checkTls(query: URLSearchParams, given: string): void {
  const mode = query.get('sslmode')
  if (mode === null) return
  if (!tlsModes.includes(mode))
    throw unreadable(`sslmode is one of ${tlsModes.join(', ')}; given ${show(mode)}`, given)
  if (strictModes.has(mode) && query.get('uselibpqcompat') !== 'true') query.set('sslmode', 'verify-full')
}

const tlsModes: readonly string[] = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full']
const strictModes: ReadonlySet<string> = new Set(['prefer', 'require', 'verify-ca'])

function unreadable(what: string, given: string): Error {
  return invalid(
    `the URL of a store on PostgreSQL cannot be used: ${what}; write postgres://USER:PASSWORD@HOST/DATABASE?schema=NAME (given ${show(withoutPassword(given))})`,
  )
}

/** Errors end up in logs. A password may hold any character, so all up to the last @ is taken for it. */
export function withoutPassword(url: string): string {
  return url.replace(/([?&](?:ssl)?password=)[^&]*/gi, '$1***').replace(/(\/\/[^:@/?#]*):.*@/s, '$1:***@')
}
