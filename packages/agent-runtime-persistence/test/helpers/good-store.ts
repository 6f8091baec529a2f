import { Scene } from '@ku0/agent-runtime-conformance'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { openStore } from '../../src/index.ts'
import { nodeDigest } from './scratch-folder.ts'

/** A store with one completed task in it, closed. */
export async function goodStore(path: string): Promise<void> {
  const environment = { ...createVirtualEnvironment('good'), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { environment })
  const scene = new Scene(store, parseExecutionConfig().config, environment.clock)
  await scene.settle(await scene.running())
  await store.close()
}
