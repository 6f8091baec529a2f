// Starts the gateway on a free port, hands it a run, and shows what happens while it is away.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createRuntime, TaskFailed } from '@ku0/agent-runtime'
import { gateway } from '@ku0/agent-runtime/gateway'
import { reportTask } from './report.ts'
import { gatewayServer } from './server.ts'

const token = 'a secret of the gateway and its workers'
const server = gatewayServer({ token }).listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo

const report = reportTask(gateway({ url: `http://127.0.0.1:${port}/v1`, token }))
await using runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [report], logger: false })

const receipt = await runtime.submit(report, ' A Lamp Shines ')
for await (const item of runtime.output(receipt))
  if ('data' in item) console.log(`  the agent says: ${JSON.stringify(item.data)}`)
console.log(`result: ${await runtime.result(receipt)}`)

const long = await runtime.submit(report, 'far too many words for it')
await runtime.result(long).catch((error: TaskFailed) => console.log(`${error.kind}: ${error.message}`))

server.closeAllConnections()
await new Promise((closed) => server.close(closed))
const late = await runtime.submit(report, 'nobody is there')
await runtime.result(late).catch((error: TaskFailed) => console.log(`${error.kind}: the worker goes on`))
