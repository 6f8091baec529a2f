import { bodyTooLarge } from '../problem/problem.ts'
import type { Incoming, Reply } from './messages.ts'

/** A request of the Web standard as routes see it. */
export function incomingOf(request: Request): Incoming {
  const { method, headers, signal } = request
  const { pathname, search, host } = new URL(request.url)
  return {
    method,
    target: pathname + search,
    authority: host,
    header: (name) => headers.get(name),
    isWhole: request.body === null,
    bytes: (maxBytes) => bytesOf(request, maxBytes),
    signal,
  }
}

/** An answer as one of the Web standard. */
export function responseOf({ status, headers, body }: Reply, method: string): Response {
  return new Response(method === 'HEAD' ? null : (body ?? null), { status, headers })
}

async function bytesOf(request: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = (request.body as ReadableStream<Uint8Array> | null)?.getReader()
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    size += part.value.byteLength
    if (size > maxBytes) {
      await reader?.cancel().catch(() => {})
      throw bodyTooLarge(maxBytes)
    }
    chunks.push(part.value)
  }
  return Buffer.concat(chunks)
}
