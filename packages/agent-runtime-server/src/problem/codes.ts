import type { ErrorCode } from '@ku0/agent-runtime-core'

/** The refusals of the server itself, beside the codes of the library: what each means, what to do, and its status. */
export const serverCodes = {
  unauthenticated: {
    meaning: 'The request has no token, or one that is unknown, revoked or expired.',
    remedy: 'Send `Authorization: Bearer TOKEN`.',
    status: 401,
  },
  forbidden: {
    meaning: 'The token does not allow this.',
    remedy: 'Use a token with the scope that the message names.',
    status: 403,
  },
  host_refused: {
    meaning: 'The server is not reached under this name.',
    remedy: "Use one of its names, or add this one to the server's hosts.",
    status: 403,
  },
  origin_refused: {
    meaning: "A page of another origin sent the request from somebody's browser.",
    remedy: 'Send it from the same origin, or from a program.',
    status: 403,
  },
  no_such_route: {
    meaning: 'The API has no such path.',
    remedy: 'See /api/v1/openapi.json for its paths.',
    status: 404,
  },
  no_such_connection: {
    meaning: "The connection of a worker's line is over, or frames of it are missing.",
    remedy: 'Open another one with POST /api/v1/line/connections: the worker goes on with its leases.',
    status: 404,
  },
  no_remote_workers: {
    meaning: 'The server takes no remote workers.',
    remedy: 'Start it with agent-runtime serve, or give createServer the option remoteWorkers.',
    status: 404,
  },
  no_such_worker: {
    meaning: 'No worker of this token has this id, or it was silent for too long.',
    remedy: 'Register again with POST /api/v1/workers.',
    status: 404,
  },
  method_not_allowed: {
    meaning: 'The path does not take this method.',
    remedy: 'Use one of the methods in the header Allow.',
    status: 405,
  },
  uri_too_long: {
    meaning: 'Path and query are longer than maxUrlBytes.',
    remedy: 'Name less in one request.',
    status: 414,
  },
  unsupported_media_type: {
    meaning: 'The body is not JSON, or is compressed.',
    remedy: 'Send `Content-Type: application/json`, and no `Content-Encoding`.',
    status: 415,
  },
  too_many_requests: {
    meaning: 'The token made more requests, or has more streams open, than its limit allows.',
    remedy: 'Wait as long as the header Retry-After says.',
    status: 429,
  },
  no_store_place: {
    meaning: 'The server cannot look at its store beside the runtime.',
    remedy: 'Run the command where the store is, or give createServer the option storeUrl.',
    status: 501,
  },
  not_served: {
    meaning: 'The process behind this server cannot do this: it is a client without handlers.',
    remedy: 'Ask a server that is made with a runtime.',
    status: 501,
  },
} as const satisfies Record<
  string,
  { readonly meaning: string; readonly remedy: string; readonly status: number }
>
export type ServerCode = keyof typeof serverCodes

/** The status of an error of the library. A store that fails is 503: the request may be sent again later, or elsewhere. */
export function statusOf(code: ErrorCode): number {
  if (code.startsWith('store_')) return 503
  return byCode[code] ?? 500
}

const byCode: Partial<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  line_protocol: 400,
  line_refused: 403,
  invalid_config: 400,
  invalid_encoding: 400,
  step_not_serializable: 400,
  not_found: 404,
  already_exists: 409,
  already_resolved: 409,
  idempotency_conflict: 409,
  invalid_transition: 409,
  lease_lost: 409,
  task_diverged: 409,
  payload_too_large: 413,
  budget_exceeded: 422,
  invalid_payload: 422,
  schema_mismatch: 422,
  unknown_task_type: 422,
  circuit_open: 429,
  limit_exceeded: 429,
  rate_limited: 429,
  node_unsupported: 501,
  shutdown: 503,
  timeout: 503,
}
