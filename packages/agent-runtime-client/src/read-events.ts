/** One event of a stream of server-sent events. */
export interface ServerEvent {
  /** Empty for what the stream is about; `end`, `cut`, `closing`, `missed` or `problem` for what the server says of it. */
  readonly name: string
  readonly data: string
  /** The last id that came, if any. */
  readonly id: string | undefined
}

/** The events of an answer, as the standard says that they are read. Comments are left out. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<ServerEvent, void> {
  let [name, id]: [string, string | undefined] = ['', undefined]
  let data: string[] = []
  for await (const line of linesOf(body, signal)) {
    if (line === '') {
      if (data.length > 0) yield { name, data: data.join('\n'), id }
      name = ''
      data = []
      continue
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') data.push(value)
    else if (field === 'event') name = value
    else if (field === 'id') id = value
  }
}

async function* linesOf(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<string, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  // The platform's fetch ends the body itself; another one may know nothing of the signal.
  const leave = () => void reader.cancel().catch(() => {})
  signal?.addEventListener('abort', leave, { once: true })
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + decoder.decode(part.value, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line
    }
    signal?.throwIfAborted()
  } finally {
    signal?.removeEventListener('abort', leave)
    await reader.cancel().catch(() => {})
  }
}
