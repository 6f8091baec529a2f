import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import * as restate from '@restatedev/restate-sdk'
import * as clients from '@restatedev/restate-sdk-clients'
import { nothing, runSteps, waitFirst, type Open } from '../system.ts'

/**
 * The server calls a service of this process, so a task runs as soon as it is submitted and a process that runs tasks is there.
 * The place's address is `http://host:PORT#ADMIN`, with the port of the server's administration.
 */
export const restateSystem: Open = async ({ place, job }) => {
  const url = new URL(place.url)
  const admin = `http://${url.hostname}:${url.hash.slice(1)}`
  const ingress = clients.connect({ url: url.origin })
  const ids: string[] = []
  const service = restate.service({
    name: 'bench',
    // A handler that waits lets go of its connection after that, instead of after a minute.
    options: { inactivityTimeout: 50 },
    handlers: {
      work: async (ctx: restate.Context, n: number) => {
        await waitFirst(job ?? nothing, n, () => {
          const { id, promise } = ctx.awakeable()
          ids[n] = id
          return promise
        })
        await runSteps(job ?? nothing, n, (name, run) => ctx.run(name, async () => run() as number))
      },
    },
  })
  const send = ingress.serviceSendClient<typeof service>({ name: 'bench' })
  let server: ReturnType<typeof createServer> | undefined
  return {
    submit: (n) => send.work(n),
    wake: (n) => ingress.resolveAwakeable(ids[n] ?? '', null),
    waiting: async () => {
      const answer = await fetch(`${admin}/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({
          query: "SELECT count(*) AS count FROM sys_invocation WHERE status = 'suspended'",
        }),
      })
      const { rows } = (await answer.json()) as { rows: readonly { count: number }[] }
      return rows[0]?.count ?? Number.NaN
    },
    start: async () => {
      server = createServer(restate.createEndpointHandler({ services: [service] }) as never)
      server.listen(Number(url.searchParams.get('service') ?? 0), '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const answer = await fetch(`${admin}/deployments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true }),
      })
      if (!answer.ok) throw new Error(`the service was refused: ${await answer.text()}`)
    },
    close: async () => {
      server?.close()
    },
  }
}
