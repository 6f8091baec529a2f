import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'

const { config } = parseExecutionConfig()

/** A store in this thread, whose clock goes on while no timer runs. */
async function sleeping() {
  const environment = { ...createVirtualEnvironment('asleep'), digest: nodeDigest }
  let asleepMs = 0
  const clock = {
    now: () => environment.clock.now() + asleepMs,
    monotonic: () => environment.clock.monotonic() + asleepMs,
  }
  const store = await openStore('sqlite::memory:', { environment: { ...environment, clock } })
  const scene = new Scene(store, config, environment.clock)
  await scene.running()
  return { scene, store, sleep: (ms: number) => void (asleepMs += ms) }
}

test('C03 a sleep in which news of leases may have been missed is reported once, for a second', async () => {
  const { scene, store, sleep } = await sleeping()
  const told = () => [store.mayHaveSlept(), store.timesSlept()]
  expect(told()).toEqual([false, 0])
  sleep(config.schedulerTickMs + 101)
  expect(told()).toEqual([true, 1])
  expect(told()).toEqual([true, 1])
  await scene.pass(999)
  expect(told()).toEqual([true, 1])
  await scene.pass(1)
  expect(told()).toEqual([false, 1])
  sleep(config.leaseTtlMs)
  expect(told()).toEqual([true, 2])
  await store.close()
})

test('C03 one that is not longer than the silence that counts is none', async () => {
  const { scene, store, sleep } = await sleeping()
  await scene.pass(1)
  sleep(100)
  expect([store.mayHaveSlept(), store.timesSlept()]).toEqual([false, 0])
  await store.close()
})

test('C03 beside a store in its own thread a free event loop is awake, and a blocked one is not', async () => {
  const store = await openStore(`sqlite:${join(scratchFolder(), 'store.db')}`, { config })
  onTestFinished(() => store.close())
  await store.read({ kind: 'stats' })
  const before = store.timesSlept()
  for (const until = performance.now() + 150; performance.now() < until;);
  expect([store.mayHaveSlept(), store.timesSlept()]).toEqual([true, before + 1])
})
