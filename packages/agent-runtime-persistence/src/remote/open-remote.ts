import { invalid, type Environment } from '@ku0/agent-runtime-core'
import type { OpenStoreOptions } from '../open-store-options.ts'
import { StoreFront } from '../line/front.ts'
import { systemEnvironment } from '../system.ts'
import { dialServer } from './dial-server.ts'
import { RemoteLine } from './remote-line.ts'
import type { Dial } from './transport.ts'
import { parseRemoteUrl } from './url.ts'

/** Opens the store behind a server. Options of a database are refused: what is behind the server is its own matter. */
export async function openRemoteStore(given: string, options: OpenStoreOptions): Promise<StoreFront> {
  const url = parseRemoteUrl(given)
  const foreign = (['durability', 'acceptLoss', 'lines'] as const).find((name) => options[name] !== undefined)
  if (foreign !== undefined)
    throw invalid(`${foreign} is for a database; leave it out for a remote store, whose server has its own`)
  const environment = options.environment ?? systemEnvironment()
  return (await openLine(url, environment, dialServer(url, options.token, environment))).store
}

/** Opens a line over any transport. */
export async function openLine(
  url: string,
  environment: Environment,
  dial: Dial,
): Promise<{ readonly store: StoreFront; readonly line: RemoteLine }> {
  const store = new StoreFront()
  const line = new RemoteLine({
    url,
    processId: environment.ids.uuid(),
    session: environment.ids.uuid() + environment.ids.uuid(),
    dial,
    environment,
    front: store,
  })
  await line.open()
  return { store: store.connect(line), line }
}
