import type { ServerPlace } from './dial-socket.ts'
import { LINE_PATH } from './protocol.ts'
import type { Transport, TransportHearer } from './transport.ts'

/** A connection of HTTP requests: one waits for what comes down, another carries up what has gathered meanwhile. */
export function dialPolls({ url, headers }: ServerPlace, hearer: TransportHearer): Transport {
  const base = `${url}${LINE_PATH}/connections`
  const over = new AbortController()
  let waiting: string[] = []
  let isSending = false
  let place: string | undefined
  let sent = 0

  async function ask(path: string, frames?: readonly string[]): Promise<unknown> {
    const answer = await fetch(path, {
      method: frames === undefined ? 'GET' : 'POST',
      headers: frames === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...(frames === undefined ? {} : { body: JSON.stringify({ frames, from: sent }) }),
      signal: over.signal,
      redirect: 'error',
    })
    const body = answer.status === 204 ? undefined : await answer.json().catch(() => undefined)
    if (answer.ok) return body
    throw new Error(
      `${path} answered with ${(body as { detail?: string } | undefined)?.detail ?? answer.status}`,
    )
  }

  function end(error: unknown): void {
    if (over.signal.aborted) return
    over.abort()
    hearer.closed(error instanceof Error ? error : new Error(String(error)), false)
  }

  async function receive(): Promise<void> {
    const { connection } = (await ask(base, [])) as { readonly connection: string }
    place = `${base}/${connection}`
    hearer.opened()
    for (let after = 0; !over.signal.aborted;) {
      const { frames } = (await ask(`${place}?after=${after}`)) as { readonly frames: readonly string[] }
      for (const frame of frames) if (!over.signal.aborted) hearer.heard(frame)
      after += frames.length
    }
  }

  async function post(): Promise<void> {
    isSending = true
    const to = place
    if (to === undefined) throw new Error('the connection is not open yet')
    while (waiting.length > 0) {
      const frames = takeSome()
      await ask(to, frames)
      sent += frames.length
    }
    isSending = false
  }

  /** As many as the server reads at once; a frame may be as long as that by itself. */
  function takeSome(): readonly string[] {
    let length = 0
    const most = waiting.findIndex((frame, index) => {
      length += frame.length
      return index > 0 && length > mostAtOnce
    })
    const frames = most === -1 ? waiting : waiting.slice(0, most)
    waiting = most === -1 ? [] : waiting.slice(most)
    return frames
  }

  void receive().catch(end)
  return {
    send(text) {
      waiting.push(text)
      if (!isSending) void post().catch(end)
    },
    close() {
      if (over.signal.aborted) return
      over.abort()
    },
  }
}

const mostAtOnce = 1_000_000
