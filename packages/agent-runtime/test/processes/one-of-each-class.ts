// Says how the errors look that a program gets from each entry point, and that each is of the class which the program imports, wherever it is thrown. `pnpm check:packages`
// runs it from the sources and with the packed packages: what both print has to be the same.
import assert from 'node:assert/strict'
import { ConfigError, RuntimeError as CoreError, StoreError } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import { z } from 'zod'
import { createRuntime, defineTask, GraphFailed, RuntimeError, TaskFailed } from '../../src/index.ts'
import { createTestRuntime, ProcessCrashed } from '../../src/testing/index.ts'

assert.equal(RuntimeError, CoreError)
assert.ok(StoreError.prototype instanceof RuntimeError)
assert.ok(GraphFailed.prototype instanceof RuntimeError)
assert.ok(!(ProcessCrashed.prototype instanceof RuntimeError))

const task = defineTask({ type: 'fail', input: z.object({ size: z.number() }) }, () => {
  throw new RangeError('out of range')
})
const wrong = { leaseTtlMs: 'soon', maxQueued: -1, quotas: { model: { limit: {} } } }
const fail = async () => {
  const test = await createTestRuntime({ tasks: [task] })
  return test.result(await test.runtime.submit(task, { size: 1 }))
}
const doors: Record<string, () => Promise<unknown>> = {
  'settings, by the schemas': async () => parseExecutionConfig(wrong),
  'settings, by the runtime': () =>
    createRuntime({ store: 'sqlite::memory:', tasks: [], logger: false, config: wrong as never }),
  'a store that does not exist': () => openStore('mongodb://somewhere'),
  'a call that does not fit the port': async () => {
    const store = await openStore('sqlite::memory:')
    try {
      await store.write({ kind: 'submit', tasks: [{ type: 7, lane: 'fast' }] } as never)
    } finally {
      await store.close()
    }
  },
  'a task that failed': fail,
}

for (const [door, open] of Object.entries(doors)) {
  const error = await open().catch((thrown: unknown) => thrown)
  assert.ok(error instanceof RuntimeError, door)
  console.log(
    `${door}: ${error.name} ${error.code} ${error instanceof ConfigError} ${error instanceof StoreError} ${error instanceof TaskFailed}`,
  )
  console.log(error.message.replaceAll(/[\da-f-]{36}/g, 'ID'))
}
