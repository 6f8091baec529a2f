import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Pool, Runtime } from '@ku0/agent-runtime'
import { RuntimeError } from '@ku0/agent-runtime-core'
import type { System } from '../system.ts'

/** Where a worker shows whether it takes tasks: a file that is there only then, and a port that answers 200 only then, else 503. */
export interface ReadinessPlaces {
  readonly file: string | undefined
  readonly port: number | undefined
  readonly host: string
}

export interface Readiness extends AsyncDisposable {
  /** The address that answers; undefined without a port. */
  readonly url: string | undefined
  /** It takes tasks from now on, or does not any more. */
  readonly tell: (isReady: boolean) => void
  /** Each probe of the port asks this, too, until what is returned is disposed. An answer that does not come in time counts as yes. */
  readonly ask: (takesTasks: () => Promise<boolean>) => Disposable
}

/** How long a probe waits for the store, ms: those of Kubernetes wait for 1 000. */
const ASK_MS = 500

const READY = 'ready\n'

/** Opens the port, if one is wanted: it answers 503 until the worker is ready. Throws `invalid_argument` for an address that cannot be had. */
export async function openReadiness(
  { file, port, host }: ReadinessPlaces,
  system: Pick<System, 'sleep'>,
): Promise<Readiness> {
  let isReady = false
  let asked: (() => Promise<boolean>) | undefined
  const ask = (takesTasks: () => Promise<boolean>) => {
    asked = takesTasks
    return { [Symbol.dispose]: () => void (asked = undefined) }
  }
  const tell = (now: boolean) => {
    isReady = now
    if (file === undefined) return
    if (now) writeFileSync(file, `${process.pid}\n`)
    else rmSync(file, { force: true })
  }
  if (port === undefined)
    return { url: undefined, tell, ask, [Symbol.asyncDispose]: () => Promise.resolve(tell(false)) }
  const takesTasks = async () => {
    if (!isReady || asked === undefined) return isReady
    const answered = new AbortController()
    const late = system.sleep(ASK_MS, answered.signal).then(() => true)
    const yes = await Promise.race([asked().catch(() => true), late])
    answered.abort()
    return isReady && yes
  }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = (await takesTasks()) ? READY : 'takes no tasks\n'
    // Each probe asks anew: a connection that is kept would keep the process from ending.
    response.writeHead(body === READY ? 200 : 503, {
      'content-type': 'text/plain',
      'content-length': body.length,
      'cache-control': 'no-store',
      connection: 'close',
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new RuntimeError(
          'invalid_argument',
          `--ready-port: cannot listen on ${host}:${port}: ${error.code === 'EADDRINUSE' ? 'another program does; choose another port' : error.message}`,
          { cause: error },
        ),
      ),
    )
    server.listen(port, host, resolve)
  })
  // A probe keeps no worker alive.
  server.unref()
  const { address, family, port: given } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${given}`,
    tell,
    ask,
    [Symbol.asyncDispose]: async () => {
      tell(false)
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The same for one run of a worker: from the moment at which it is to end it takes no tasks, whatever is said after that. */
export function untilEnd(ready: Readiness, signal: AbortSignal): Readiness {
  signal.addEventListener('abort', () => ready.tell(false), { once: true })
  return { ...ready, tell: (isReady) => ready.tell(isReady && !signal.aborted) }
}

/** Says it for the workers of a pool from now on: one that was drained from outside takes no tasks until that is taken back. */
export function tellOf(pool: Pool, ready: Readiness): Disposable {
  const look = () =>
    ready.tell(Object.values(pool.stats().workers).some(({ status }) => status !== 'draining'))
  look()
  return pool.on(look)
}

/** A drain from outside shows at the next probe, also if no notice of it has come here yet. */
export function askStore(runtime: Pick<Runtime, 'pool' | 'workers'>, ready: Readiness): Disposable {
  return ready.ask(async () => {
    const own = new Set(Object.keys(runtime.pool.stats().workers))
    return (await runtime.workers()).some(
      ({ workerId, state }) => own.has(workerId) && state !== 'draining' && state !== 'silent',
    )
  })
}

/** The end of a ready line in words that names the URL of its probe, if there is one. */
export function probeText({ url }: Readiness): string {
  return url === undefined ? '' : `; probes ask ${url}`
}

/** The field of a ready line that names the URL of its probe, if there is one. */
export function probe({ url }: Readiness): { readonly probe?: string } {
  return url === undefined ? {} : { probe: url }
}
