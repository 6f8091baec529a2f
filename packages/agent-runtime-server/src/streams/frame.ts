/** One event of a stream as it is sent, with the id that a reader goes on from. */
export interface Frame {
  readonly id: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** An event for readers. JSON has no line ends of its own, so one line of data is enough. */
export function frameOf(id: string, json: unknown): Frame {
  return { id, bytes: utf8.encode(`id: ${id}\ndata: ${JSON.stringify(json)}\n\n`) }
}

/** A message of the server about the stream itself; `name` is the event's name. */
export function signFrame(name: SignName, json: unknown, id = ''): Uint8Array<ArrayBuffer> {
  const idLine = id === '' ? '' : `id: ${id}\n`
  return utf8.encode(`event: ${name}\n${idLine}data: ${JSON.stringify(json)}\n\n`)
}

/**
 * `end`: nothing comes any more. `cut`: the reader took too little for too long. `closing`: the server stops. `missed`: events between the
 * given id and the next one are gone. `problem`: what went wrong.
 */
export type SignName = 'end' | 'cut' | 'closing' | 'missed' | 'problem'

/** The comment that keeps intermediaries from closing a silent stream. */
export const keepAlive = encoded(': keep-alive\n\n')

/** The first bytes of a stream: after how many ms a reader comes back. */
export const opening = encoded('retry: 1000\n\n')

function encoded(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

const utf8 = new TextEncoder()
