import { parseJson } from '@ku0/agent-runtime-core'
import { bodyTooLarge, fieldsRefused, refusal } from '../problem/problem.ts'

/**
 * The JSON of a request's body; undefined if there is none. A body that is not JSON is refused by its header, one that is too large
 * before it was read as a whole.
 */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const type = request.headers.get('content-type')
  const length = request.headers.get('content-length')
  if (type !== null && !/^application\/json *(;.*)?$/i.test(type))
    throw refusal('unsupported_media_type', 'the header Content-Type is not application/json')
  if (length !== null && Number(length) > maxBytes) throw bodyTooLarge(maxBytes)
  if (length === '0') return undefined
  // Whoever reads HTTP from a connection reads no more than the length that was announced.
  const bytes = length === null ? await bytesOf(request.body, maxBytes) : await request.arrayBuffer()
  if (bytes.byteLength > maxBytes) throw bodyTooLarge(maxBytes)
  if (bytes.byteLength === 0) return undefined
  if (type === null) throw refusal('unsupported_media_type', 'the body has no header Content-Type')
  try {
    return parseJson(utf8.decode(bytes))
  } catch {
    throw fieldsRefused([{ field: 'body', allowed: 'JSON in UTF-8' }])
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

async function bytesOf(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = body?.getReader()
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
