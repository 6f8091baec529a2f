/** One event of a stream of server-sent events. */
export interface ServerEvent {
  readonly type: string
  readonly data: string
  readonly id: string
}

/** Splits a text stream into server-sent events, as the standard reads them. Comments are left out; `heard` is called for whatever comes. */
export async function* serverEvents(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<ServerEvent, void> {
  const decoder = new TextDecoder()
  let rest = ''
  let event = { type: '', data: [] as string[] }
  let id = ''
  for await (const bytes of body) {
    heard()
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw
      if (line === '') {
        if (event.data.length > 0) yield { type: event.type || 'message', data: event.data.join('\n'), id }
        event = { type: '', data: [] }
        continue
      }
      const [, field = line, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
      if (field === 'data') event.data.push(value)
      if (field === 'event') event.type = value
      if (field === 'id') id = value
    }
  }
}
