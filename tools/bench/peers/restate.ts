import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import * as restate from '@restatedev/restate-sdk'
import * as clients from '@restatedev/restate-sdk-clients'
import { nothing, runSteps, type Open } from '../system.ts'

/**
 * The server calls a service of this process, so a task runs as soon as it is submitted and a process that runs tasks is there.
 * The place's address is `http://host:PORT#ADMIN`, with the port of the server's administration.
 */
export const restateSystem: Open = async ({ place, job }) => {
  const url = new URL(place.url)
  const admin = `http://${url.hostname}:${url.hash.slice(1)}`
  const ingress = clients.connect({ url: url.origin })
  const service = restate.service({
    name: 'bench',
    handlers: {
      work: async (ctx: restate.Context, n: number) => {
        await runSteps(job ?? nothing, n, (name, run) => ctx.run(name, async () => run() as number))
      },
    },
  })
  const send = ingress.serviceSendClient<typeof service>({ name: 'bench' })
  let server: ReturnType<typeof createServer> | undefined
  return {
    submit: (n) => send.work(n),
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
