import type { Environment } from '@ku0/agent-runtime-core'
import { LINE_PATH } from './protocol.ts'
import type { Transport, TransportHearer } from './transport.ts'

/** Where a connection leads, and what each of its requests says of its sender. */
export interface ServerPlace {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly environment: Environment
}

/** The WebSocket of Node, Bun and Deno takes headers; that of browsers, whose type this is, does not. */
type WithHeaders = new (
  url: string,
  options: { readonly headers: Readonly<Record<string, string>> },
) => WebSocket

/** Opens a WebSocket. `failed`: it did not come about. */
export function dialSocket(
  { url, headers }: ServerPlace,
  hearer: TransportHearer & { failed(): void },
): Transport {
  const Socket = WebSocket as unknown as WithHeaders
  const socket = new Socket(url.replace(/^http/i, 'ws') + LINE_PATH, { headers })
  let isOpen = false
  let isOver = false
  socket.addEventListener('open', () => {
    isOpen = true
    if (!isOver) hearer.opened()
  })
  socket.addEventListener('message', ({ data }) => {
    if (!isOver && typeof data === 'string') hearer.heard(data)
  })
  socket.addEventListener('close', ({ code, reason }) => {
    if (isOver) return
    isOver = true
    if (isOpen) hearer.closed(new Error(`the connection was closed (${reason || code})`), false)
    else hearer.failed()
  })
  // What went wrong the event does not say; a close follows.
  socket.addEventListener('error', () => {})
  return {
    send: (text) => socket.send(text),
    close() {
      isOver = true
      socket.close()
    },
  }
}
