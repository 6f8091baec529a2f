import { type StoreError } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { openStore } from '../../src/index.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

export async function openScene(path: string, seed = 'lost'): Promise<Scene> {
  const environment = { ...createVirtualEnvironment(seed), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { environment })
  return new Scene(store, parseExecutionConfig().config, environment.clock)
}

export const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: StoreError) => error.code,
  )
