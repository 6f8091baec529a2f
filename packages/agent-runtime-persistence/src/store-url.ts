import { invalid, show, suggestionFor } from '@ku0/agent-runtime-core'
import { isRemoteUrl, parseRemoteUrl } from './remote/url.ts'
import { isPostgresUrl, parsePostgresUrl, withoutPassword } from './postgres/connection/url.ts'

/** Throws `invalid_argument` for what `openStore` cannot open: neither a form of `sqlite:PATH` nor `postgres://HOST/DATABASE`. */
export function assertStoreUrl(url: string): void {
  if (isRemoteUrl(url)) parseRemoteUrl(url)
  else if (isPostgresUrl(url)) parsePostgresUrl(url)
  else parseStoreUrl(url)
}

/**
 * The path behind a store's URL, or `:memory:`. The form is `sqlite:PATH`; the forms of other tools that can mean one thing only are
 * understood, too: `sqlite://x.db`, `file:x.db`, `./x.db`, `x.db`, `:memory:`. Throws `invalid_argument` with the right form for the rest.
 */
export function parseStoreUrl(url: string): string {
  const given: unknown = url
  if (typeof given !== 'string' || !given.isWellFormed() || given.trim() === '') throw unknown(given, '')
  const { scheme, rest } = partsOf(given)
  const path = isOurs(scheme) ? pathOf(scheme, rest) : undefined
  if (path === undefined) throw unknown(given, hintFor(given))
  return path
}

/** A drive of Windows is no scheme, and neither is the colon that `:memory:` begins with. */
function partsOf(url: string): { readonly scheme: string; readonly rest: string } {
  const match = /^([a-z][a-z\d+.-]+):(.*)$/is.exec(url)
  return match === null
    ? { scheme: '', rest: url }
    : { scheme: (match[1] as string).toLowerCase(), rest: match[2] as string }
}

function isOurs(scheme: string): boolean {
  return scheme === '' || scheme === 'sqlite' || scheme === 'sqlite3' || scheme === 'file'
}

function pathOf(scheme: string, rest: string): string | undefined {
  // What follows a ? are options of SQLite's own, which would change what the store is.
  if (rest.includes('?')) return undefined
  if (/^file:/i.test(rest)) return pathOf('file', rest.slice('file:'.length))
  const path = withoutAuthority(scheme, rest)
  if (path === undefined || path === '') return undefined
  if (path === ':memory:') return path
  if (scheme === 'file') return decoded(path)
  return scheme !== '' || isPath(path) ? path : undefined
}

/**
 * `//` begins a host in a URL. A file has none, so what stands there is the beginning of its path, unless it looks like a host, as it does
 * in `file://server/share`.
 */
function withoutAuthority(scheme: string, rest: string): string | undefined {
  const match = /^\/\/([^/]*)(.*)$/s.exec(rest)
  if (match === null) return rest
  const [, first = '', more = ''] = match
  if (first === '') return more === '/:memory:' ? ':memory:' : more
  if (first === ':memory:') return first
  const isHost = /^localhost$|@|:\d+$/i.test(first) || (scheme === 'file' && more !== '')
  return isHost ? undefined : first + more
}

/** A `file:` URL escapes what a path may hold; a broken escape is none. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Without a scheme a single word may be anything: a path says that it is one by its folder or by how it ends. */
function isPath(text: string): boolean {
  return text.trim() === text && (/^(?:\.{0,2}\/|[a-z]:[\\/])/i.test(text) || isDatabaseFile(text))
}

function isDatabaseFile(text: string): boolean {
  return /\.(?:db3?|sqlite3?)$/i.test(text)
}

function hintFor(url: string): string {
  const { scheme, rest } = partsOf(url.trim())
  if (/^(?:postgres|postgresql|pg)$/.test(scheme)) return onlyFiles
  if (/^(?:sqlite:)?:?(?:in-?)?memory:?$/i.test(url.trim()))
    return `did you mean ${show('sqlite::memory:')}? `
  if (isOurs(scheme) || suggestionFor(scheme, ['sqlite']) !== undefined) {
    const path = meantBy(rest)
    return path === '' ? '' : `did you mean ${show(`sqlite:${path}`)}? `
  }
  return `a store is a SQLite file or a schema of PostgreSQL, and ${scheme}: names neither; `
}

const onlyFiles = 'only a SQLite file can be used here, and this names a store on PostgreSQL; '
const postgresForm = 'postgres://USER:PASSWORD@HOST/DATABASE'

/** The path without what stands around it: a host, options. */
function meantBy(rest: string): string {
  return rest
    .replace(/\?.*$/s, '')
    .replace(/^file:/i, '')
    .replace(/^\/\/(?:[^/]*(?=\/))?/, '')
}

function unknown(given: unknown, hint: string): Error {
  const forms = hint === onlyFiles ? ' or sqlite::memory:' : `, sqlite::memory: or ${postgresForm}`
  return invalid(
    `unknown store ${show(typeof given === 'string' ? withoutPassword(given) : given)}: ${hint}use sqlite:PATH (for example sqlite:runtime.db or sqlite:/var/lib/runtime.db, without options)${forms}`,
  )
}
