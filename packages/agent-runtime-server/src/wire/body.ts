import { parseJson } from '@ku0/agent-runtime-core'
import { bodyTooLarge, fieldsRefused, refusal } from '../problem/problem.ts'
import type { Incoming } from './messages.ts'

/**
 * The JSON of a request's body; undefined if there is none. A body that is not JSON is refused by its header, one that is too large
 * before it was read as a whole.
 */
export async function readJson(request: Incoming, maxBytes: number): Promise<unknown> {
  const type = request.header('content-type')
  const length = request.header('content-length')
  if (type !== null && !/^application\/json *(;.*)?$/i.test(type))
    throw refusal('unsupported_media_type', 'the header Content-Type is not application/json')
  const coding = request.header('content-encoding')
  // Unpacked it could be of any size.
  if (coding !== null && coding.toLowerCase() !== 'identity')
    throw refusal('unsupported_media_type', 'the header Content-Encoding is given: bodies are not compressed')
  if (length !== null && Number(length) > maxBytes) throw bodyTooLarge(maxBytes)
  if (length === '0') return undefined
  const bytes = await request.bytes(maxBytes)
  if (bytes.byteLength === 0) return undefined
  if (type === null) throw refusal('unsupported_media_type', 'the body has no header Content-Type')
  try {
    return parseJson(utf8.decode(bytes))
  } catch {
    throw fieldsRefused([
      { field: 'body', allowed: 'must be JSON in UTF-8, such as {"task":"greet","input":"Ada"}' },
    ])
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
