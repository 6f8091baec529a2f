import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Pool } from '@ku0/agent-runtime'
import { RuntimeError } from '@ku0/agent-runtime-core'

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
}

/** Opens the port, if one is wanted: it answers 503 until the worker is ready. Throws `invalid_argument` for an address that cannot be had. */
export async function openReadiness({ file, port, host }: ReadinessPlaces): Promise<Readiness> {
  let isReady = false
  const tell = (now: boolean) => {
    isReady = now
    if (file === undefined) return
    if (now) writeFileSync(file, `${process.pid}\n`)
    else rmSync(file, { force: true })
  }
  if (port === undefined)
    return { url: undefined, tell, [Symbol.asyncDispose]: () => Promise.resolve(tell(false)) }
  const server = createServer((request, response) => {
    const body = isReady ? 'ready\n' : 'takes no tasks\n'
    // Each probe asks anew: a connection that is kept would keep the process from ending.
    response.writeHead(isReady ? 200 : 503, {
      'content-type': 'text/plain',
      'content-length': body.length,
      'cache-control': 'no-store',
      connection: 'close',
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  })
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
    [Symbol.asyncDispose]: async () => {
      tell(false)
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Says it for the workers of a pool from now on: one that was drained from outside takes no tasks until that is taken back. */
export function tellOf(pool: Pool, tell: Readiness['tell']): Disposable {
  const look = () => tell(Object.values(pool.stats().workers).some(({ status }) => status !== 'draining'))
  look()
  return pool.on(look)
}

/** The field of a ready line that names the URL of its probe, if there is one. */
export function probe({ url }: Readiness): { readonly probe?: string } {
  return url === undefined ? {} : { probe: url }
}
