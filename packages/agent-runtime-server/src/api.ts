import { OpenAPIHono } from '@hono/zod-openapi'
import { allows, type Caller, isBound, sees } from './access/caller.ts'
import { unauthenticated } from './access/gate.ts'
import { describeApi, routeOf } from './document.ts'
import { fieldProblems } from './problem/field-problems.ts'
import { fieldsRefused, type FieldProblem, noTask, problemOf, refusal } from './problem/problem.ts'
import { endpoints } from './routes/endpoints.ts'
import type { Call, Endpoint } from './routes/endpoint.ts'
import type { Serving } from './serving.ts'
import { readJson } from './wire/body.ts'

/** What comes with a request that has passed the gate. */
export interface Passed {
  readonly caller: Caller | undefined
}

interface HonoEnv {
  readonly Bindings: Passed
}

/** The routes below `/api/v1`. */
const API_ROOT = '/api/v1'

/** Builds the API over what a server shares. */
export function buildApi(serving: Serving): OpenAPIHono<HonoEnv> {
  const app = new OpenAPIHono<HonoEnv>()
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' })
  const methods = new Map<string, string[]>()
  for (const it of endpoints) {
    const path = API_ROOT + it.path.replaceAll(/\{(\w+)\}/g, ':$1')
    methods.set(path, [...(methods.get(path) ?? []), it.method.toUpperCase()])
    app.openAPIRegistry.registerPath(routeOf(it))
    app.on(it.method.toUpperCase(), path, async ({ req, env }) => {
      const caller = callerFor(it, env.caller)
      const params = readPart(it.params, 'path', req.param())
      const query = readPart(it.query, 'query', textsOf(new URL(req.url).searchParams))
      const body = await readBody(it, req.raw, serving.limits.maxBodyBytes)
      const call = { serving, caller, request: req.raw, params, query, body }
      await refuseForeign(it, call)
      return it.run(call)
    })
  }
  let document: string | undefined
  app.get(`${API_ROOT}/openapi.json`, () => {
    document ??= JSON.stringify(describeApi(app))
    return new Response(document, { headers: { 'content-type': 'application/json' } })
  })
  for (const [path, allowed] of methods) {
    app.all(path, () => {
      const allow = allowed.join(', ')
      throw refusal('method_not_allowed', `this path takes ${allow}`, { allow })
    })
  }
  app.notFound(({ env }) => {
    if (env.caller === undefined) throw unauthenticated('this path needs a token')
    throw refusal('no_such_route', 'the API has no such path')
  })
  app.onError((error) => {
    const problem = problemOf(error)
    if (problem.body.status === 500) serving.report(error)
    return problem.toResponse()
  })
  return app
}

function callerFor({ scope, bound }: Endpoint, caller: Caller | undefined): Caller {
  if (caller === undefined) throw unauthenticated('this route needs a token')
  if (!allows(caller, scope)) throw refusal('forbidden', `the token lacks the scope ${scope}`)
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
  request: Request,
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
function textsOf(search: URLSearchParams): Record<string, string | string[]> {
  const texts: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  for (const name of search.keys()) {
    const all = search.getAll(name)
    texts[name] = all.length === 1 ? (all[0] ?? '') : all
  }
  return texts
}
