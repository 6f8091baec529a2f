import { type Environment, StoreError } from '@ku0/agent-runtime-core'
import { LINE_PATH, LINE_VERSION, type LineOffer } from './protocol.ts'
import { dialPolls } from './dial-polls.ts'
import { dialSocket } from './dial-socket.ts'
import type { Dial, Transport } from './transport.ts'

/** How long a server may take to say what it offers. */
const offerMs = 10_000

/**
 * Connects to a server: asks what it offers, opens a WebSocket, and where something on the way forbids those, long polls. What is refused for good
 * is told by name.
 */
export function dialServer(url: string, token: string | undefined, environment: Environment): Dial {
  const headers: Readonly<Record<string, string>> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  let hasSockets = true
  return (hearer) => {
    let transport: Transport | undefined
    let isOver = false
    const over = new AbortController()
    const timer = environment.timers.after(offerMs, () => over.abort())
    const tell = (error: Error, final: boolean) => {
      if (isOver) return
      isOver = true
      hearer.closed(error, final)
    }
    const begin = async () => {
      const offer = await askOffer(url, headers, over.signal)
      if (isOver) return
      const place = { url, headers, environment }
      if (!offer.webSocket || !hasSockets) {
        transport = dialPolls(place, hearer)
        return
      }
      transport = dialSocket(place, {
        ...hearer,
        failed() {
          // The server offers them, so something on the way does not let them through.
          hasSockets = false
          if (!isOver) transport = dialPolls(place, hearer)
        },
      })
    }
    void begin()
      .catch((error: unknown) => tell(error as Error, error instanceof StoreError))
      .finally(() => timer.cancel())
    return {
      send: (text) => transport?.send(text),
      close() {
        isOver = true
        over.abort()
        transport?.close()
      },
    }
  }
}

/** Throws a StoreError where another try would be refused, too, and another error where it may not be. */
async function askOffer(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<LineOffer> {
  const answer = await fetch(url + LINE_PATH, { headers, signal, redirect: 'error' }).catch(
    (error: unknown) => {
      const { cause } = error as { readonly cause?: { readonly message?: string; readonly code?: string } }
      throw new Error(cause?.message || cause?.code || String(error))
    },
  )
  const body = (await answer.json().catch(() => undefined)) as
    | (Partial<LineOffer> & { readonly detail?: string })
    | undefined
  if (answer.status === 200 && Array.isArray(body?.versions)) {
    const { versions, webSocket } = body as LineOffer
    if (versions.includes(LINE_VERSION)) return { versions, webSocket }
    throw new StoreError('store_newer', wrongVersion(url, versions))
  }
  const said = body?.detail ?? `status ${answer.status}`
  if (answer.status === 401 || answer.status === 403)
    throw new StoreError(
      'store_read_only',
      `${url} refuses this process: ${said}; give the option token a token with the scope work (agent-runtime token create)`,
    )
  if (answer.status === 404)
    throw new StoreError(
      'store_not_a_database',
      `${url} takes no remote workers: ${said}; start it with agent-runtime serve, or give createServer the option remoteWorkers`,
    )
  throw new Error(`${url} answered with ${said}`)
}

/** What is told where the two ends speak no common version. */
function wrongVersion(url: string, versions: readonly number[]): string {
  const older = Math.max(...versions) < LINE_VERSION
  return `${url} speaks version ${versions.join(', ')} of the worker protocol, and this process speaks ${LINE_VERSION}; upgrade the ${older ? 'server' : 'worker'} to the other's version of @ku0/agent-runtime`
}
