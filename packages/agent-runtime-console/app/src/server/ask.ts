import { ApiError, type ProblemBody } from '@ku0/agent-runtime-client'
import { credentials } from './session.ts'

/** Calls a route that the client has no method for. Moments stay ISO 8601. Throws an {@link ApiError}. */
export async function ask<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
  const answer = await fetch(`/api/v1${path}`, {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...credentials(),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (answer.ok) return (text === '' ? undefined : JSON.parse(text)) as T
  throw new ApiError(problemIn(text, answer.status))
}

function problemIn(text: string, status: number): ProblemBody {
  try {
    return JSON.parse(text) as ProblemBody
  } catch {
    const detail = `the server answered with status ${status}, and not as its API does`
    return { type: 'about:blank', title: 'A strange answer', status, detail, code: 'strange_answer' }
  }
}
