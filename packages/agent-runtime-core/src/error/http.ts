/** The facts of the HTTP response that an HTTP client's error holds. */
export interface HttpFacts {
  readonly status: number
  /** The headers that help to understand the failure or to try again, by their names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Where they stood in the error, unless that is `status` and `headers`. */
  readonly places?: { readonly status?: string; readonly headers?: string }
}

/**
 * The status of an error of an HTTP client, and the headers that matter: when to try again, what limits there are, and the ids by which
 * the provider knows the request. Nothing else of the request or the answer is read, above all no `authorization` and no body.
 * Undefined for what carries no status from 100 to 599. Never throws.
 */
export function httpFactsIn(error: unknown): HttpFacts | undefined {
  try {
    return read(error)
  } catch {
    return undefined
  }
}

/** Puts the facts where they stood in the error, and at `status` and `headers`. */
export function restoreHttpFacts(error: Error, { status, headers, places = {} }: HttpFacts): void {
  put(error, ['status'], status)
  if (places.status !== undefined) put(error, places.status.split('.'), status)
  if (headers === undefined) return
  const bag = readable(headers)
  put(error, ['headers'], bag)
  if (places.headers !== undefined) put(error, places.headers.split('.'), bag)
}

/** By client: fetch wrappers and SDKs, the AI SDK and undici, axios and ky, got, the AWS SDK. */
const statusPlaces = [
  'status',
  'statusCode',
  'response.status',
  'response.statusCode',
  '$metadata.httpStatusCode',
]
const headerPlaces = ['headers', 'responseHeaders', 'response.headers', '$response.headers']

/** With these limits what is kept of an error stays within 3 KB. */
const MAX_HEADERS = 20
const MAX_NAME_LENGTH = 48
const MAX_VALUE_LENGTH = 100
const MAX_HEADERS_READ = 200

const first = /^(retry-after(-ms)?|x-ms-retry-after-ms|x-should-retry|request-id|x-request-id)$/
const kept =
  /^(retry-after(-ms)?|x-ms-retry-after-ms|x-should-retry|(x-ratelimit|anthropic-ratelimit|ratelimit)(-[a-z-]+)?|(x-|x-ms-|x-amzn-|x-github-|openai-|apim-)?request-?id|cf-ray)$/

function read(error: unknown): HttpFacts | undefined {
  const at = statusPlaces.find((place) => isStatus(valueAt(error, place)))
  if (at === undefined) return undefined
  const status = valueAt(error, at) as number
  const headersAt = headerPlaces.find((place) => isBag(valueAt(error, place)))
  const headers = headersAt === undefined ? {} : keptOf(valueAt(error, headersAt) as object)
  const hasHeaders = Object.keys(headers).length > 0
  const places = {
    ...(at === 'status' ? {} : { status: at }),
    ...(headersAt === undefined || headersAt === 'headers' || !hasHeaders ? {} : { headers: headersAt }),
  }
  return {
    status,
    ...(hasHeaders ? { headers } : {}),
    ...(Object.keys(places).length === 0 ? {} : { places }),
  }
}

function valueAt(value: unknown, place: string): unknown {
  let at = value
  for (const key of place.split('.')) {
    if ((typeof at !== 'object' && typeof at !== 'function') || at === null) return undefined
    at = (at as Record<string, unknown>)[key]
  }
  return at
}

function isStatus(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599
}

function isBag(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Headers are an iterable of pairs (fetch) or an object by name, whose values may be lists. */
function keptOf(bag: object): Record<string, string> {
  const pairs = Symbol.iterator in bag ? (bag as Iterable<unknown>) : Object.entries(bag)
  const found: [string, string][] = []
  let seen = 0
  for (const pair of pairs) {
    seen += 1
    if (seen > MAX_HEADERS_READ) break
    if (!Array.isArray(pair)) continue
    const [given, value] = pair as unknown[]
    const name = String(given).toLowerCase()
    if (name.length > MAX_NAME_LENGTH || !kept.test(name)) continue
    const text = Array.isArray(value) ? value.join(', ') : String(value)
    found.push([name, text.slice(0, MAX_VALUE_LENGTH).toWellFormed()])
  }
  const ranked = found.toSorted(([a], [b]) => Number(first.test(b)) - Number(first.test(a)))
  return Object.fromEntries(ranked.slice(0, MAX_HEADERS))
}

/** By name, and by `get` as the headers of fetch are: the code that reads them is the same in every pass. */
function readable(headers: Readonly<Record<string, string>>): object {
  const bag: object = { ...headers }
  const get = (name: string) => headers[name.toLowerCase()] ?? null
  const has = (name: string) => headers[name.toLowerCase()] !== undefined
  return Object.defineProperties(bag, { get: { value: get }, has: { value: has } })
}

function put(target: object, [key, ...rest]: readonly string[], value: unknown): void {
  if (key === undefined) return
  const own: unknown = Object.hasOwn(target, key) ? (target as Record<string, unknown>)[key] : undefined
  const inner = typeof own === 'object' && own !== null ? own : {}
  if (rest.length > 0) put(inner, rest, value)
  const property = {
    value: rest.length > 0 ? inner : value,
    enumerable: true,
    configurable: true,
    writable: true,
  }
  Object.defineProperty(target, key, property)
}
