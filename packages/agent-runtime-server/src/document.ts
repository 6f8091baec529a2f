import { OpenApiGeneratorV31, OpenAPIRegistry } from '@asteasolutions/zod-to-openapi'
import { API_VERSION } from './version.ts'
import type { Answer, Endpoint } from './routes/endpoint.ts'
import { z } from './wire/zod.ts'

/** The answer instead of a result. */
const ProblemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().openapi({ description: 'Says what was wrong, where, and what would be accepted' }),
    code: z.string().openapi({ description: 'A code of the library or of the server; codes never change' }),
    remedy: z.string(),
    instance: z.string().openapi({
      description: 'A name of this request alone; the log of the server has its own faults under it',
    }),
    fields: z.array(z.object({ field: z.string(), allowed: z.string() })).optional(),
  })
  .openapi('Problem')

/** The document of the API: OpenAPI 3.1, made from the schemas that the routes check with. */
export function describeApi(endpoints: readonly Endpoint[]): object {
  const registry = new OpenAPIRegistry()
  registry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' })
  for (const it of endpoints) registry.registerPath(routeOf(it))
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Agent runtime',
      version: API_VERSION,
      description:
        'Tasks of the agent runtime over HTTP. Times are ISO 8601; names that end in `Ms` are durations in ms. Values of users are JSON.',
      license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT' },
    },
    servers: [{ url: '/' }],
    tags: [...tags].map(([name, description]) => ({ name, description })),
    security: [{ token: [] }, {}],
  })
}

const tags = new Map([
  ['tasks', 'Submit tasks, look at them and act on them'],
  ['events', 'What happens, as pages and as streams'],
  ['approvals', 'What waits for a human'],
  ['limits', 'Budgets, quotas and the shares of clients'],
  ['schedules', 'Tasks that are submitted on a schedule'],
  ['agents', 'Routes, swarms and the reputation of agents'],
  ['operation', 'Workers, leases, the queue, dead letters'],
  ['access', 'Tokens, and what they allow'],
  ['workers', 'Remote workers'],
])

/** A route as the document's generator takes it. */
function routeOf(it: Endpoint) {
  const responses: Record<string, object> = {}
  for (const [status, { description, schema, also }] of Object.entries<Answer>(it.answers)) {
    const content = {
      ...(schema === undefined ? {} : { 'application/json': { schema } }),
      ...Object.fromEntries(
        Object.entries(also ?? {}).map(([type, text]) => [
          type,
          { schema: z.string().openapi({ description: text }) },
        ]),
      ),
    }
    responses[status] = { description, ...(Object.keys(content).length === 0 ? {} : { content }) }
  }
  for (const status of problemsOf(it))
    responses[status] = {
      description: problemTexts[status] ?? 'A problem',
      content: { 'application/problem+json': { schema: ProblemSchema } },
    }
  return {
    method: it.method,
    path: `/api/v1${it.path}`,
    operationId: it.id,
    tags: [it.tag],
    summary: it.summary,
    description: [it.description, `Needs the scope \`${it.scope}\`.`].filter(Boolean).join(' '),
    request: {
      ...(it.params === undefined ? {} : { params: it.params as z.ZodObject }),
      ...(it.query === undefined ? {} : { query: it.query as z.ZodObject }),
      ...(it.headers === undefined ? {} : { headers: it.headers }),
      ...(it.body === undefined
        ? {}
        : {
            body: {
              required: it.bodyOptional !== true,
              content: { 'application/json': { schema: it.body } },
            },
          }),
    },
    responses: responses as never,
  }
}

/** The statuses of the problems that a route may answer. */
export function problemsOf(it: Endpoint): number[] {
  const own = it.problems ?? []
  const body = it.method === 'get' ? [] : [413, 415]
  return [...new Set([400, 401, 403, ...body, ...own, 429, 503])].toSorted((a, b) => a - b)
}

const problemTexts: Readonly<Record<number, string>> = {
  400: 'A part of the request is not accepted; `fields` names each',
  401: 'The token is missing, unknown, revoked or expired',
  403: 'The token does not allow this, or the request comes from another site or under another host name',
  404: 'Nothing has this id or name',
  409: 'Another state, key or answer stands against it',
  413: 'The body, or a value in it, is too large',
  415: 'The body is not JSON, or is compressed',
  422: 'The task type does not exist, its schema refuses the input, or there is no budget for it',
  429: 'A limit was reached; the header Retry-After says when to come back',
  501: 'The process behind the server cannot do this',
  503: 'The store, or the server, does not work now; the header Retry-After says when to come back',
}
