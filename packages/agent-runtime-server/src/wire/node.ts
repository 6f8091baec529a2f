import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { bodyTooLarge } from '../problem/problem.ts'
import type { Incoming, Reply } from './messages.ts'

/**
 * Answers requests of Node's HTTP server without a detour over those of the Web standard, which would cost more than a submission.
 * `handle` never rejects.
 */
export function listenerOf(
  handle: (incoming: Incoming) => Promise<Reply>,
  maxBodyBytes: number,
  report: (error: unknown) => void,
): RequestListener {
  return (request, response) => {
    void handle(new NodeIncoming(request, response))
      .then((reply) => send(request, response, reply, maxBodyBytes))
      .catch((error: unknown) => {
        // Whoever has left hears nothing; an answer that breaks off is no whole one.
        if (!response.destroyed) report(error)
        response.destroy()
      })
  }
}

/** Takes a request that asks whether its body is wanted: it gets a go-ahead when the body is read, and else its answer at once. */
export function askedFirst(request: IncomingMessage, response: ServerResponse): void {
  const { headers } = request
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
    response.writeContinue()
  else asking.add(request)
}

const asking = new WeakSet<IncomingMessage>()

/**
 * A request of Node as routes see it. An object with a getter of its own would be kept until the next collection of all: V8 makes a hidden class for each,
 * and that is old from the start.
 */
class NodeIncoming implements Incoming {
  readonly method: string
  readonly target: string
  readonly authority = ''
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  #gone: AbortController | undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
    this.method = request.method ?? 'GET'
    this.target = request.url ?? '/'
  }

  header(name: string): string | null {
    return this.#request.headers[name]?.toString() ?? null
  }

  get isWhole(): boolean {
    return this.#request.complete
  }

  async bytes(maxBytes: number): Promise<Uint8Array> {
    if (asking.delete(this.#request)) this.#response.writeContinue()
    if (!this.isWhole) return bytesOf(this.#request, maxBytes)
    // To listen for its parts would cost more.
    const whole = (this.#request.read() as Buffer | null) ?? nothing
    if (whole.byteLength > maxBytes) throw bodyTooLarge(maxBytes)
    return whole
  }

  get signal(): AbortSignal {
    if (this.#gone === undefined) {
      const control = new AbortController()
      this.#gone = control
      if (this.#response.destroyed) control.abort()
      else this.#response.once('close', () => control.abort())
    }
    return this.#gone.signal
  }
}

const nothing = new Uint8Array()

function bytesOf(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const cut = () => reject(new Error('the connection ended before the body'))
  if (request.destroyed) cut()
  const chunks: Uint8Array[] = []
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.byteLength
    if (size > maxBytes) {
      request.removeAllListeners('data')
      request.pause()
      return reject(bodyTooLarge(maxBytes))
    }
    chunks.push(chunk)
  })
  request.once('end', () => resolve(chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks)))
  request.once('error', reject)
  request.once('close', () => {
    // It closes after each body, and an error costs more than the rest of the listener.
    if (!request.complete) cut()
  })
  return promise
}

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Reply,
  maxBodyBytes: number,
): Promise<void> {
  // A body that nobody reads may be a long one: its connection is not used again. Nor is that of one who got no go-ahead, since nobody knows whether the body comes.
  const unread =
    asking.has(request) || (!request.complete && !(Number(request.headers['content-length']) <= maxBodyBytes))
  if (unread) response.setHeader('connection', 'close')
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    const length = body === undefined ? undefined : Buffer.byteLength(body)
    response.writeHead(status, length === undefined ? headers : { ...headers, 'content-length': length })
    if (unread && length !== undefined && !asking.has(request)) {
      response.write(body)
      await drained(request, maxDrainedBytes)
      response.end()
    } else response.end(body)
    return
  }
  response.writeHead(status, headers)
  if (request.method === 'HEAD') {
    await body.cancel()
    response.end()
    return
  }
  const reader = body.getReader()
  response.once('close', () => void reader.cancel().catch(() => {}))
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (response.destroyed) return
    if (!response.write(part.value)) await room(response)
  }
  response.end()
}

/**
 * Takes what still comes of a body that nobody wants, up to a bound. A connection that is closed before loses the answer with it, which
 * whoever sends first would never read. The time is that of each body: Node ends the connection after it.
 */
function drained(request: IncomingMessage, most: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (request.destroyed || request.complete) resolve()
  let left = most
  request.on('data', ({ byteLength }: Buffer) => {
    left -= byteLength
    if (left < 0) resolve()
  })
  for (const end of ['end', 'error', 'close']) request.once(end, () => resolve())
  request.resume()
  return promise
}

/** So much more is taken of a body that was refused. */
const maxDrainedBytes = 32 << 20

/** Resolves when the connection takes more, or is over. */
async function room(response: ServerResponse): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([
      once(response, 'drain', { signal: over.signal }),
      once(response, 'close', { signal: over.signal }),
    ])
  } finally {
    over.abort()
  }
}
