import { errorCodes, firstLines, type Ids, RuntimeError, StoreError } from '@ku0/agent-runtime-core'
import type { Reply } from '../wire/messages.ts'
import { type ServerCode, serverCodes, statusOf } from './codes.ts'

/** A field of a request that was refused. */
export interface FieldProblem {
  /** Where it stands: `body.options.lane`, `query.limit`. */
  readonly field: string
  /** The values that would be accepted. For a name that does not exist, the name that was probably meant. */
  readonly allowed: string
}

/** The answer instead of a result: RFC 9457, `application/problem+json`. */
export interface ProblemBody {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: string
  readonly remedy: string
  readonly fields?: readonly FieldProblem[]
  readonly [more: string]: unknown
}

/** A refusal, on its way to the answer. */
export class Problem extends Error {
  static {
    this.prototype.name = 'Problem'
  }

  readonly body: ProblemBody
  readonly headers: Readonly<Record<string, string>>

  constructor(body: ProblemBody, headers: Readonly<Record<string, string>> = {}) {
    super(body.detail)
    this.body = body
    this.headers = headers
  }

  /** `instance`: the name of the request, from {@link named}. */
  toReply(instance: string): Reply {
    return {
      status: this.body.status,
      headers: { 'content-type': 'application/problem+json', ...this.headers },
      body: JSON.stringify({ ...this.body, instance }),
    }
  }
}

/** A problem and the name of the request that has it. */
export interface NamedProblem {
  readonly problem: Problem
  readonly instance: string
}

/** The answer to a request that was refused or failed, with a name for it. A fault of the server goes to its log under that name. */
export function named(
  error: unknown,
  ids: Ids,
  report: (error: unknown, instance: string) => void,
): NamedProblem {
  const problem = problemOf(error)
  const instance = `urn:uuid:${ids.uuid()}`
  if (problem.body.status === 500) report(error, instance)
  return { problem, instance }
}

/** A refusal of the server itself. */
export function refusal(
  code: ServerCode,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Problem {
  const { meaning, remedy, status } = serverCodes[code]
  return new Problem({ type: typeOf(code), title: meaning, status, detail, code, remedy }, headers)
}

/** Fields that the request may not have, or not so. */
export function fieldsRefused(fields: readonly FieldProblem[]): Problem {
  const detail = firstLines(fields.map(({ field, allowed }) => `${field}: ${allowed}`)).join('\n')
  const { meaning, remedy } = errorCodes.invalid_argument
  const code = 'invalid_argument'
  return new Problem({
    type: typeOf(code),
    title: meaning,
    status: 400,
    detail,
    code,
    remedy,
    fields: fields.slice(0, MAX_FIELDS),
  })
}

/** The body was, or was going to be, larger than the limit. */
export function bodyTooLarge(limit: number): Problem {
  return problemOf(
    new RuntimeError('payload_too_large', `the body is larger than ${limit} bytes (maxBodyBytes)`),
  )
}

/** The task does not exist, or is none that the caller sees: both are answered in the same way. */
export function noTask(taskId: string): Problem {
  return problemOf(new RuntimeError('not_found', `there is no task ${taskId}, or it was pruned`))
}

/** An error of the library. One that is not its own says nothing of itself: it may hold anything. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (!(error instanceof RuntimeError)) return unexpected
  const { code, message, details } = error
  const { meaning, remedy } = errorCodes[code]
  const wrongState = code === 'invalid_argument' && typeof details['state'] === 'string'
  const status = wrongState ? 409 : statusOf(code)
  // Where a store is, and what the system said of it, is not for those who only ask it.
  const detail = error instanceof StoreError || status === 500 ? meaning : message
  const headers: Record<string, string> = status === 429 || status === 503 ? { 'retry-after': '1' } : {}
  return new Problem(
    {
      type: typeOf(code),
      title: meaning,
      status,
      detail,
      code,
      remedy,
      ...(wrongState ? { state: details['state'] } : {}),
    },
    headers,
  )
}

function typeOf(code: string): string {
  return `urn:ku0:error:${code}`
}

const unexpected = new Problem({
  type: typeOf('internal'),
  title: errorCodes.internal.meaning,
  status: 500,
  detail: 'something unexpected happened; the log of the server has more under the name in `instance`',
  code: 'internal',
  remedy: errorCodes.internal.remedy,
})

const MAX_FIELDS = 20
