import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Call } from '../src/call.ts'
import { Printer } from '../src/screen/printer.ts'
import { realSystem } from '../src/system.ts'
import { askStore, openReadiness, probeText, untilEnd } from '../src/worker/readiness.ts'
import { runReloading } from '../src/worker/reload.ts'
import { scratchFolder } from './stores-and-shells.ts'

/** A call whose reloads are asked for by the test, and what it says. */
function reloadable() {
  const said: string[] = []
  const listeners = new Set<() => void>()
  const control = new AbortController()
  const outlet = {
    out: () => undefined,
    err: (text: string) => void said.push(text.trim()),
    onReload: (listener: () => void) => {
      listeners.add(listener)
      return { [Symbol.dispose]: () => void listeners.delete(listener) }
    },
  }
  const call: Call = {
    args: [],
    options: {},
    outlet,
    system: realSystem,
    signal: control.signal,
    print: new Printer(outlet, false),
    settings: () => Promise.reject(new Error('not read here')),
  }
  const reload = () => {
    for (const listener of listeners) listener()
  }
  return { call, said, reload, listeners, end: () => control.abort() }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))

test('a reload ends the run in order and starts the next with what was loaded; a load that fails changes nothing', async () => {
  const { call, said, reload, listeners, end } = reloadable()
  const loads: (() => Promise<string>)[] = [
    () => Promise.reject(new Error('a typing error')),
    () => Promise.resolve('second'),
  ]
  const runs: string[] = []
  const code = await runReloading(call, 'first', {
    load: async () => {
      try {
        return await loads.shift()!()
      } finally {
        // The second reload is asked for once the first has failed.
        if (loads.length === 1) setImmediate(reload)
      }
    },
    run: async ({ signal }, loaded) => {
      runs.push(loaded)
      if (loaded === 'first') reload()
      else end()
      if (!signal.aborted) await aborted(signal)
      return runs.length
    },
  })
  expect(runs).toEqual(['first', 'second'])
  expect(code).toBe(2)
  expect(said).toEqual([
    'goes on with the task types that it has: a typing error',
    'reloading: the task types were loaded anew',
  ])
  expect(listeners.size).toBe(0)
})

test('readiness is a file that is there and a port that answers 200 only while tasks are taken', async () => {
  const file = join(scratchFolder(), 'ready')
  const ready = await openReadiness({ file, port: 0, host: '127.0.0.1' }, realSystem)
  const seen = async () => {
    const { status } = await fetch(ready.url!)
    return [status, existsSync(file)]
  }
  expect(probeText(ready)).toBe(`; probes ask ${ready.url}`)
  expect(probeText({ ...ready, url: undefined })).toBe('')
  expect(await seen()).toEqual([503, false])
  ready.tell(true)
  expect(await seen()).toEqual([200, true])
  ready.tell(false)
  expect(await seen()).toEqual([503, false])
  ready.tell(true)
  const { port } = new URL(ready.url!)
  await expect(openReadiness({ file, port: Number(port), host: '127.0.0.1' }, realSystem)).rejects.toThrow(
    `--ready-port: cannot listen on 127.0.0.1:${port}: another program does; choose another port`,
  )
  await ready[Symbol.asyncDispose]()
  await expect(fetch(ready.url!)).rejects.toThrow('fetch failed')
  expect(existsSync(file)).toBe(false)
})

test('a run that is to end takes no tasks from that moment on, whatever is said after that', async () => {
  const file = join(scratchFolder(), 'ready')
  await using ready = await openReadiness({ file, port: undefined, host: '127.0.0.1' }, realSystem)
  const control = new AbortController()
  const run = untilEnd(ready, control.signal)
  run.tell(true)
  expect(existsSync(file)).toBe(true)
  control.abort()
  expect(existsSync(file)).toBe(false)
  run.tell(true)
  expect(existsSync(file)).toBe(false)
})

test('a probe sees a drain from outside of which no notice has come yet', async () => {
  const tasks = [defineTask({ type: 'work', input: z.null() }, () => 1)]
  const options = { store: 'sqlite::memory:', thread: false, tasks, logger: false, telemetry: false } as const
  await using runtime = await createRuntime(options)
  await using ready = await openReadiness({ file: undefined, port: 0, host: '127.0.0.1' }, realSystem)
  // What the worker hears of itself comes too late here: it goes nowhere.
  ready.tell(true)
  using _ = askStore(runtime, ready)
  const status = async () => (await fetch(ready.url!)).status
  expect(await status()).toBe(200)
  const [{ workerId } = { workerId: '' }] = await runtime.workers()
  await runtime.drainWorker(workerId)
  expect(await status()).toBe(503)
  await runtime.undrainWorker(workerId)
  expect(await status()).toBe(200)
})

test('a probe does not wait for a store that does not answer', async () => {
  await using ready = await openReadiness({ file: undefined, port: 0, host: '127.0.0.1' }, realSystem)
  ready.tell(true)
  using _ = ready.ask(() => new Promise(() => undefined))
  expect((await fetch(ready.url!)).status).toBe(200)
})
