import { allows, type Caller, isBound, sees } from './access/caller.ts'
import { unauthenticated } from './access/gate.ts'
import { describeApi } from './document.ts'
import { fieldProblems } from './problem/field-problems.ts'
import { fieldsRefused, type FieldProblem, noTask, refusal } from './problem/problem.ts'
import { endpoints } from './routes/endpoints.ts'
import type { Call, Endpoint } from './routes/endpoint.ts'
import { keyRefused } from './routes/idempotency-key.ts'
import { Routing } from './routing.ts'
import type { Serving } from './serving.ts'
import { readJson } from './wire/body.ts'
import { type Incoming, pathOf, queryOf, type Reply } from './wire/messages.ts'

/** The routes below `/api/v1`. */
const API_ROOT = '/api/v1'

/** The handler of a path: it gets the request, the caller, and the parameters of the path. */
export type Handler = (
  request: Incoming,
  caller: Caller | undefined,
  params: Readonly<Record<string, string>>,
) => Reply | Promise<Reply>

/** The routes of the API, over what a server shares. */
export function buildApi(serving: Serving): Routing<Handler> {
  const routing = new Routing<Handler>()
  for (const it of endpoints)
    routing.add(it.method.toUpperCase(), API_ROOT + it.path, (request, caller, params) =>
      callEndpoint(it, serving, request, caller, params),
    )
  let document: string | undefined
  routing.add('GET', `${API_ROOT}/openapi.json`, () => {
    document ??= JSON.stringify(describeApi(endpoints))
    return { status: 200, headers: { 'content-type': 'application/json' }, body: document }
  })
  return routing
}

/** Answers a request that the gate has let through. Throws a problem where nothing answers. */
export function route(
  routing: Routing<Handler>,
  request: Incoming,
  caller: Caller | undefined,
): Reply | Promise<Reply> {
  const place = routing.find(pathOf(request))
  if (place === undefined) {
    if (caller === undefined) throw unauthenticated('this path needs a token')
    throw refusal('no_such_route', `the API has no such path; ${adviceOn(pathOf(request), routing)}`)
  }
  const handler = place.methods.get(request.method === 'HEAD' ? 'GET' : request.method)
  if (handler !== undefined) return handler(request, caller, place.params)
  const allow = [...place.methods.keys()].join(', ')
  throw refusal('method_not_allowed', `this path takes ${allow}`, { allow })
}

function adviceOn(path: string, routing: Routing<Handler>): string {
  if (path.startsWith(`${API_ROOT}${API_ROOT}/`))
    return `${API_ROOT} stands in it twice, so leave it out of the server's URL`
  const all = `GET ${API_ROOT}/openapi.json lists all`
  if (path.startsWith(`${API_ROOT}/`)) return `${routing.near(path)}${all}`
  return routing.find(API_ROOT + path) === undefined ? all : `put ${API_ROOT} before it; ${all}`
}

async function callEndpoint(
  it: Endpoint,
  serving: Serving,
  request: Incoming,
  asker: Caller | undefined,
  given: Readonly<Record<string, string>>,
): Promise<Reply> {
  const caller = callerFor(it, asker, serving.readOnly)
  if (it.repeat === 'anew' && request.header('idempotency-key') !== null) throw keyRefused()
  const params = readPart(it.params, 'path', given)
  const query = readPart(it.query, 'query', textsOf(request))
  const { limits, turns } = serving
  // Most bodies have come by then. One that has not ends in a turn of its own.
  await turns.end()
  const { isWhole } = request
  const body = await readBody(it, request, it.maxBytes?.(limits) ?? limits.maxBodyBytes)
  if (!isWhole) await turns.end()
  const call = { serving, caller, request, params, query, body }
  await refuseForeign(it, call)
  return it.run(call)
}

function callerFor(
  { scope, bound, onlyReads = scope === 'read' }: Endpoint,
  caller: Caller | undefined,
  readOnly: boolean,
): Caller {
  if (caller === undefined) throw unauthenticated('this route needs a token')
  if (!allows(caller, scope)) throw refusal('forbidden', `the token lacks the scope ${scope}`)
  if (readOnly && !onlyReads)
    throw refusal('forbidden', 'this server is read-only: it changes nothing for anybody')
  if (bound === 'none' && isBound(caller))
    throw refusal(
      'forbidden',
      'the token is bound to a client or to task types, and this route is about the whole store',
    )
  return caller
}

/** A task that a caller does not see is answered like one that does not exist. */
async function refuseForeign({ bound }: Endpoint, call: Call<unknown, unknown, unknown>): Promise<void> {
  if (bound !== 'task' || !isBound(call.caller)) return
  const { taskId } = call.params as { readonly taskId: string }
  const task = await call.serving.runtime.status(taskId)
  if (task === undefined || !sees(call.caller, task)) throw noTask(taskId)
}

async function readBody(
  { method, body, bodyOptional = false }: Endpoint,
  request: Incoming,
  maxBytes: number,
) {
  if (method === 'get') return undefined
  const json = await readJson(request, maxBytes)
  if (body === undefined) {
    if (json === undefined) return undefined
    throw fieldsRefused([{ field: 'body', allowed: 'none: this route takes no body' }])
  }
  if (json === undefined && bodyOptional) return readPart(body, 'body', {})
  if (json === undefined) throw fieldsRefused([{ field: 'body', allowed: 'JSON; not given' }])
  return readPart(body, 'body', json)
}

function readPart(schema: Endpoint['body'], part: string, given: unknown): unknown {
  if (schema === undefined) {
    const [name] = part === 'query' ? Object.keys(given as object) : []
    if (name === undefined) return undefined
    throw fieldsRefused([{ field: `query.${name.slice(0, 100)}`, allowed: 'no such field; there are none' }])
  }
  const { success, data, error } = schema.safeParse(given)
  if (success) return data
  const problems: FieldProblem[] = fieldProblems(part, schema, error)
  throw fieldsRefused(problems)
}

/** The parameters of a query; one that is given several times is a list. */
function textsOf(request: Incoming): Record<string, string | string[]> {
  if (!request.target.includes('?')) return {}
  const search = queryOf(request)
  const texts: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  for (const name of search.keys()) {
    const all = search.getAll(name)
    texts[name] = all.length === 1 ? (all[0] ?? '') : all
  }
  return texts
}
