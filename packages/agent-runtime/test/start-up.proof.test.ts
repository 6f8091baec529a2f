import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

// The time that a process needs to come back after a crash is mostly the time to load its modules. Source: `docs/decisions/0014-the-store-starts-first.md`.

test('importing the runtime loads neither the store nor what createRuntime loads beside it', () => {
  const [imported = [], started = []] = stagesOf(
    `const { createRuntime } = await import('@ku0/agent-runtime')
     seen.push(undefined)
     const runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [], workers: 0, logger: false })
     await runtime.stop()`,
  )
  expect(imported).toContain('agent-runtime/src/create-runtime.ts')
  expect(imported.filter(isLate)).toEqual([])
  // The store's thread has the engine, and a program without settings and SDK needs neither schemas nor OpenTelemetry.
  expect(started).toContain('agent-runtime/src/store-runtime.ts')
  expect(started.filter((module) => isEngine(module) || isOnDemand(module))).toEqual([])
})

test('a limit that a program sets loads no schemas', () => {
  const modules = loadedBy(
    `const { createRuntime } = await import('@ku0/agent-runtime')
     const config = { queueDepthLimit: 5_000, leaseTtlMs: 20_000, preemption: true }
     const workers = { capacity: 100 }
     const runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [], workers, logger: false, config })
     await runtime.stop()`,
  )
  expect(modules).toContain('agent-runtime/src/store-runtime.ts')
  expect(modules.filter((module) => isEngine(module) || isOnDemand(module))).toEqual([])
})

test('settings of many parts load the schemas, and a registered SDK the API of OpenTelemetry', () => {
  const modules = loadedBy(
    `const { createRuntime } = await import('@ku0/agent-runtime')
     globalThis[Symbol.for('opentelemetry.js.api.1')] = { version: '1.9.0' }
     const config = { retention: { completed: { count: 1_000 } } }
     const runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [], workers: 0, logger: false, config })
     await runtime.stop()`,
  )
  expect(modules.filter(isOnDemand).some((module) => module.includes('zod'))).toBe(true)
  expect(modules.filter(isOnDemand).some((module) => module.includes('opentelemetry'))).toBe(true)
})

test('a client loads neither handlers nor what runs them', () => {
  const modules = loadedBy(
    `const { createClient } = await import('@ku0/agent-runtime')
     const client = await createClient({ store: 'sqlite::memory:', logger: false })
     await client.submit('review', { repo: 'a/b' })
     await client.close()`,
  )
  expect(modules).toContain('agent-runtime/src/client/client.ts')
  expect(modules.filter(runsHandlers)).toEqual([])
  // A graph is a task type, and the door exports how one is defined.
  const ofHandlers = modules.filter((module) => /agent-runtime\/src\/(durable|execution)\//.test(module))
  expect(ofHandlers.map((module) => module.replace('agent-runtime/src/', '')).toSorted()).toEqual([
    'durable/step/retry.ts',
    'durable/wait/room.ts',
    'execution/collected.ts',
  ])
})

test('the thread of a store loads its engine and no schemas: its calls were checked before', () => {
  const modules = loadedBy(
    `await import('@ku0/agent-runtime-persistence/store-worker')`,
    new URL('../../agent-runtime-persistence', import.meta.url),
  )
  expect(modules).toContain('agent-runtime-persistence/src/engine/engine.ts')
  expect(modules.filter((module) => /zod|schema/.test(module))).toEqual([
    'agent-runtime-persistence/src/sqlite/schema.ts',
  ])
})

/** What runs only in the store's thread. */
function isEngine(module: string): boolean {
  return /agent-runtime-core\/src\/transition\/|agent-runtime-persistence\/src\/(engine|sqlite\/|verify\/)|better-sqlite3/.test(
    module,
  )
}

/** What only a process with workers needs. */
function runsHandlers(module: string): boolean {
  return (
    isEngine(module) ||
    /agent-runtime\/src\/(worker|profile|replay)\/|agent-runtime\/src\/execution\/(attempt|worker|settle)|agent-runtime\/src\/durable\/(context|pass\/pass|step\/step|wait\/waits|exec\/warden)|agent-runtime\/src\/store-(runtime|worker)/.test(
      module,
    )
  )
}

/** What is loaded only where it is used: schemas with settings, the API of OpenTelemetry with an SDK, runners with isolated tasks. */
function isOnDemand(module: string): boolean {
  return /zod|agent-runtime-core\/src\/.*schema|opentelemetry|pino|src\/isolation\/(?!inside-runner)/.test(
    module,
  )
}

function isLate(module: string): boolean {
  return (
    isEngine(module) ||
    isOnDemand(module) ||
    /agent-runtime-telemetry|agent-runtime\/src\/(store-runtime|client\/client|worker\/)/.test(module)
  )
}

/** The modules that a program loads into its main thread, by their path below `packages` or `node_modules`. */
function loadedBy(program: string, cwd?: URL): string[] {
  return stagesOf(program, cwd).flat()
}

/** The same, divided where the program pushes `undefined` to `seen`. */
function stagesOf(program: string, cwd = new URL('..', import.meta.url)): string[][] {
  const watched = `
    import { registerHooks } from 'node:module'
    const seen = []
    registerHooks({
      load(url, context, next) {
        seen.push(url)
        return next(url, context)
      },
    })
    ${program}
    console.log(JSON.stringify(seen))
  `
  const told = execFileSync(process.execPath, ['--input-type=module', '--eval', watched], {
    cwd,
    encoding: 'utf8',
  })
  const stages: string[][] = [[]]
  for (const url of JSON.parse(told) as (string | null)[]) {
    if (url === null) stages.push([])
    else stages.at(-1)?.push(url.replace(/^.*\/(packages|node_modules)\//, ''))
  }
  return stages
}
