import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { createRuntime } from '@ku0/agent-runtime'
import { openStore, type Verification } from '@ku0/agent-runtime-persistence'
import { hashToken, serve, type ServeOptions } from '@ku0/agent-runtime-server'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { commands } from '../src/catalogue/catalogue.ts'
import type { CommandEntry } from '../src/catalogue/entry.ts'
import { cliExitCodes } from '../src/exit-codes.ts'
import { gold, greet, others, review } from './project/tasks.ts'
import { runIn, scratchFolder } from './stores-and-shells.ts'

const project = join(import.meta.dirname, 'project/tasks.ts')
const tasks = [greet, review, ...others]

/** Each command that works on a store or a server, in an order in which each has something to do. */
const calls: readonly (readonly string[])[] = [
  ['submit', 'greet', '{"name":"Ada"}', '--id', 'ada', '--wait', '--label', 'n=1'],
  ['submit', 'greet', '{"name":"Ada"}', '--key', 'once', '--id', 'one'],
  ['submit', 'greet', '{"name":"Ada"}', '--key', 'once'],
  ['result', 'one', '--wait'],
  ['submit', 'fail', '"no luck"', '--id', 'failed', '--wait'],
  ['submit', 'wait', 'null', '--id', 'waiting'],
  ['submit', 'wait', 'null', '--id', 'waiting-too', '--delay', '1h'],
  ['submit', 'review', '"a text"', '--id', 'asks'],
  ['submit', 'review', '"a text"', '--id', 'asks-too'],
  ['submit', 'greet', '{"name":"Ada"}', '--id', 'last', '--wait', '--lane', 'batch'],
  ['list', '--state', 'completed', '--limit', '2'],
  ['list', '--state', 'completed', '--limit', '2', '--cursor', '2'],
  ['show', 'ada'],
  ['show', 'nobody'],
  ['events', 'ada'],
  ['events', 'ada', '--follow', '--after', '2'],
  ['output', 'ada'],
  ['result', 'failed'],
  ['result', 'waiting'],
  ['result', 'nobody'],
  ['tree', 'ada'],
  ['explain', 'waiting-too'],
  ['explain', 'nobody'],
  ['queue'],
  ['dead-letters'],
  ['workers'],
  ['drain', 'nobody'],
  ['pause'],
  ['resume', '--type', 'nobodys'],
  ['stats'],
  ['pipelines'],
  ['check'],
  ['approvals'],
  ['approvals', 'approve', 'asks:3', '--by', 'eve', '--value', '"another text"'],
  ['approvals', 'reject', 'asks-too:3', '--feedback', 'too short'],
  ['approvals', 'approve', 'asks:99'],
  ['result', 'asks', '--wait'],
  ['approvals', 'trail', 'asks'],
  ['signal', 'waiting', 'go', '"now"'],
  ['result', 'waiting', '--wait'],
  ['signal', 'nobody', 'go', '1'],
  ['fork', 'ada', '--from', 'compose', '--id', 'forked'],
  ['result', 'forked', '--wait'],
  ['fork', 'ada', '--from', 'nothing'],
  ['retry', '--state', 'failed'],
  // The new task fails at a time of its own.
  ['retry', 'failed'],
  ['cancel', 'ada', 'nobody'],
  ['cancel', '--type', 'wait'],
  ['cancel', '--type', 'wait', '--yes'],
  ['cancel', '--type', 'wait', '--yes'],
  ['budgets'],
  ['budgets', 'show', 'ada'],
  ['agreements', '--tasks', project],
  [
    'submit',
    'greet',
    '{"name":"Ada"}',
    '--agreement',
    'gold',
    '--id',
    'agreed',
    '--wait',
    '--tasks',
    project,
  ],
  ['show', 'agreed'],
  ['explain', 'agreed'],
  [
    'schedules',
    'put',
    'agreed',
    'greet',
    '{"name":"Ada"}',
    '--every',
    '1h',
    '--agreement',
    'gold',
    '--tasks',
    project,
  ],
  ['schedules', 'remove', 'agreed'],
  ['credits', 'show', 'nobody'],
  ['credits', 'buy', 'acme', '5', '--key', 'order 1'],
  ['credits', 'buy', 'acme', '5', '--key', 'order 1'],
  ['credits', 'buy', 'acme', '6', '--key', 'order 1'],
  ['credits', 'show', 'acme'],
  ['credits', 'ledger', 'acme', '--limit', '1'],
  ['token'],
  [
    'token',
    'create',
    'ci',
    '--scopes',
    'read,submit',
    '--client',
    'acme',
    '--types',
    'greet',
    '--expires',
    '30d',
  ],
  ['token', 'create', 'ci', '--scopes', 'read'],
  ['token', 'create', 'bad', '--scopes', 'reed'],
  ['token'],
  ['token', 'revoke', 'cj'],
  ['token', 'revoke', 'ci'],
  ['token', 'revoke', 'ci'],
  ['token'],
  ['supervisors'],
  ['supervisors', '--all'],
  ['supervisors', 'show', 'ada'],
  ['supervisors', 'start', 'ada', 'child', 'greet', '{"name":"Ada"}'],
  ['supervisors', 'stop', 'ada', 'child'],
  ['supervisors', 'restart', 'ada', 'child'],
  ['schedules', 'put', 'daily', 'greet', '{"name":"Ada"}', '--cron', '0 9 * * *', '--zone', 'UTC'],
  ['schedules'],
  ['schedules', 'pause', 'daily'],
  ['schedules', 'resume', 'daily'],
  ['schedules', 'trigger', 'daily'],
  ['schedules', 'pause', 'nobody'],
  ['schedules', 'remove', 'daily'],
  ['schedules', 'remove', 'daily'],
]

test('commands say the same of a store and of the server in front of it', async () => {
  const folder = scratchFolder()
  const open = async (name: string) => {
    const runtime = await createRuntime({
      store: `sqlite:${join(folder, name)}`,
      tasks,
      agreements: [gold],
      logger: false,
      thread: false,
    })
    onTestFinished(() => runtime.close())
    return runtime
  }
  await open('store.db')
  const server = await serve(await open('served.db'), { port: 0 })
  onTestFinished(() => server.close())
  for (const call of calls)
    for (const form of [[], ['--json']]) {
      // What changes something is said once, in the form of programs.
      if (form.length === 0 && changing.has(call[0] ?? '')) continue
      const [onStore, onServer] = [
        await runIn({ folder }, ...call, '--store', 'store.db', ...form),
        await runIn({ folder }, ...call, '--server', server.url, ...form),
      ]
      expect.soft([call, steady(onServer)]).toEqual([call, steady(onStore)])
    }
})

const changing = new Set(['submit', 'signal', 'fork', 'retry', 'cancel', 'schedules', 'approvals', 'credits'])

/** Without times, ids of the store's own, and what depends on the moment. */
function steady({ code, out, err }: { readonly code: number; readonly out: string; readonly err: string }) {
  const plain = (text: string) =>
    text
      .replaceAll(/ku0_[\w-]{43}/g, 'TOKEN')
      .replaceAll(/\b[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}(\/\d+)?/g, 'ID')
      .replaceAll(/"(hash|prevHash|leaseId|fencingToken|storeId|workerId)":("[^"]*"|\d+)/g, '"$1":0')
      .replaceAll(/\b\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, 'TIME')
      .replaceAll(/\b1[\d.]{12,16}\b/g, '0')
      .replaceAll(/(\w*Ms|\w*At|commits|at|from|to|until)":-?[\d.]+/g, '$1":0')
      // The details of an error stay in the server; only a runtime knows what is in flight in its own process.
      .replaceAll(/,"details":\{[^{}]*\}/g, '')
      .replaceAll(/,"(inFlight|leaked)":\d+/g, '')
      .replaceAll(/[█▇▆▅▄▃▂▁░▒▓━─╸╺·•]+/g, '')
      .replaceAll(/\b[\d.,]+ ?(ms|s|min|h|d)\b/g, 'LASTING')
      .replaceAll(/ +/g, ' ')
  return { code, out: plain(out), err: plain(err) }
}

test('every command that takes --server is among them', () => {
  const named = new Set(calls.map((call) => call.slice(0, 2).join(' ')))
  const below = (entry: CommandEntry, path = ''): readonly string[] => {
    const name = `${path} ${entry.name}`.trim()
    const own = entry.options?.some(({ flags }) => flags.startsWith('--server')) === true ? [name] : []
    return [...own, ...(entry.commands ?? []).flatMap((it) => below(it, name))]
  }
  const all = commands.flatMap((entry) => below(entry))
  const missing = all.filter((name) => ![...named].some((it) => `${it} `.startsWith(`${name} `)))
  // A setting is shown whatever it names; a budget that asks needs tasks of its own; a prune goes by other rules; code is checked over a line; what looks after a store names its place.
  expect(missing).toEqual([
    'replay',
    'deploy-check',
    'budgets continue',
    'budgets stop',
    'prune',
    'verify',
    'doctor',
    'config',
  ])
})

test('a prune on a server goes by the rules of its store, and takes no others', async () => {
  const folder = scratchFolder()
  const runtime = await createRuntime({
    store: 'sqlite::memory:',
    tasks,
    logger: false,
    config: { retention: { completed: { count: 1 }, everyMs: 86_400_000 } },
  })
  onTestFinished(() => runtime.close())
  const server = await serve(runtime, { port: 0 })
  onTestFinished(() => server.close())
  for (let n = 0; n < 3; n += 1) await runtime.result(await runtime.submit(greet, { name: 'Ada' }))
  const prune = (...args: string[]) => runIn({ folder }, 'prune', '--server', server.url, ...args)
  expect(await prune()).toMatchObject({
    code: 0,
    out: '2 tasks would be deleted: 2 completed, 0 failed, 0 canceled; add --yes to delete them\n',
  })
  expect(await prune('--completed', '1d', '--yes')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--completed is a rule') as string,
  })
  expect(await runtime.count()).toBe(3)
  expect((await prune('--yes')).out).toBe('2 tasks deleted: 2 completed, 0 failed, 0 canceled\n')
  expect(await runtime.count()).toBe(1)
  expect((await prune()).out).toMatch(
    /^nothing is to be deleted: .* kept for some time \(retention\.keysMs\)\n$/,
  )
})

/** A server on a file, with tasks that are done. */
async function servedFile(folder: string, options: ServeOptions = {}) {
  const path = join(folder, 'served.db')
  const runtime = await createRuntime({ store: `sqlite:${path}`, tasks, logger: false, thread: false })
  onTestFinished(() => runtime.close())
  const server = await serve(runtime, { port: 0, ...options })
  onTestFinished(() => server.close())
  for (let n = 0; n < 3; n += 1) await runtime.result(await runtime.submit(greet, { name: 'Ada' }))
  return { path, runtime, url: server.url }
}

test('a server checks its own store, and finds what is damaged there', async () => {
  const folder = scratchFolder()
  const { path, url, runtime } = await servedFile(folder)
  const verify = (...args: string[]) => runIn({ folder }, 'verify', ...args)
  const { code, out, err } = await verify('--server', url)
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain(`the store of ${url}: well\n  tasks 3, events `)
  const [here, there] = [await verify(path, '--json'), await verify(url, '--json')]
  expect(there).toEqual(here)

  await verify(url, '--seal', 'seal.json')
  await runtime.result(await runtime.submit(greet, { name: 'Bob' }))
  expect((await verify(url, '--seal', 'seal.json')).out).toContain('  tasks 1, ')

  const db = new Database(path)
  db.exec("UPDATE event SET data = replace(data, 'Ada', 'Eve') WHERE data LIKE '%Ada%'")
  db.close()
  const damaged = await verify(url, '--max-faults', '1', '--json')
  expect(damaged).toEqual(await verify(path, '--max-faults', '1', '--json'))
  expect(damaged.code).toBe(cliExitCodes.damaged)
  expect(JSON.parse(damaged.out)).toMatchObject({ ok: false, faults: [{ what: 'event' }] })

  const hiding = await serve(runtime, { port: 0, redact: ['output'] })
  onTestFinished(() => hiding.close())
  const { faults } = JSON.parse((await verify(hiding.url, '--json')).out) as Verification
  expect(faults.find(({ what }) => what === 'event')).toMatchObject({
    expected: '[redacted]',
    actual: '[redacted]',
  })
})

test('a verification that is given up ends in the server, too', async () => {
  const folder = scratchFolder()
  const { url } = await servedFile(folder)
  const stop = new AbortController()
  const asked: string[] = []
  const { fetch } = globalThis
  globalThis.fetch = async (request, more) => {
    asked.push((request as Request).method)
    const answer = await fetch(request, more)
    if (asked.length === 1) stop.abort()
    return answer
  }
  onTestFinished(() => void (globalThis.fetch = fetch))
  const { code } = await runIn({ folder, signal: stop.signal }, 'verify', url)
  expect([code, asked]).toEqual([cliExitCodes.failed, ['POST', 'DELETE']])
})

test('doctor says what a server says of itself, and of its store to the scope admin', async () => {
  const folder = scratchFolder()
  const soon = Date.now() + 86_400_000
  const { path, url } = await servedFile(folder, {
    tokens: [
      { name: 'ops', hash: hashToken('ops'), scopes: ['admin'], expiresAt: soon },
      { name: 'ci', hash: hashToken('ci'), scopes: ['read', 'submit'], client: 'acme', types: ['greet'] },
    ],
  })
  const doctor = (token: string, ...args: string[]) =>
    runIn({ folder }, 'doctor', '--server', url, '--token', token, ...args)
  const { code, out } = await doctor('ops')
  expect(code).toBe(0)
  expect(out).toMatch(
    new RegExp(`^${url}: well\n  answered in .*; API 1.0.0, .*; takes no remote workers, runs tasks\n`),
  )
  expect(out).toContain(', sqlite, schema ')
  expect(out).toMatch(/ {2}workers 1, 1 seen within a minute; slots 4, 0 busy\n {2}tasks 0 queued/)
  expect(out).toMatch(/ {2}token ops: scopes .*admin; until 20/)
  expect(out).toMatch(/warning: the token ops ends on 20/)
  expect(out).toContain(`\n${path}: well\n`)
  const bound = await doctor('ci')
  expect(bound.out).toContain('token ci: scopes read, submit; client acme; types greet; for ever')
  expect(bound.out).toContain('workers: the token may not ask')
  expect(bound.out).toContain('the store itself was not looked at: ')
  const findings = JSON.parse((await doctor('ops', '--json')).out) as Record<string, unknown>
  const local = JSON.parse((await runIn({ folder }, 'doctor', path, '--json')).out) as Record<string, unknown>
  // The server may store the sample of a minute in between.
  const { commits: _, ...counts } = local['counts'] as Record<string, number>
  expect(findings).toMatchObject({
    ok: true,
    url,
    info: { kind: 'sqlite' },
    workers: { registered: 1 },
    inspection: { path, storeId: local['storeId'], counts, versions: local['versions'] },
  })
  expect((await doctor('nobody')).code).toBe(cliExitCodes.denied)
})

test('a store that its server cannot look at ends a command as one that cannot be looked at here', async () => {
  const folder = scratchFolder()
  const { path, runtime } = await servedFile(folder)
  writeFileSync(join(folder, 'junk.db'), 'no database at all'.repeat(1_000))
  writeFileSync(
    join(folder, 'foreign.json'),
    JSON.stringify({ storeId: '0'.repeat(17), commit: 1, hash: 'a'.repeat(64) }),
  )
  const both = async (file: string, ...call: string[]) => {
    const server = await serve(runtime, { port: 0, storeUrl: `sqlite:${file}` })
    onTestFinished(() => server.close())
    const [here, there] = [
      await runIn({ folder }, ...call, file),
      await runIn({ folder }, ...call, server.url),
    ]
    return [here.code, there.code]
  }
  const { damaged, missing, usage } = cliExitCodes
  for (const command of ['doctor', 'verify']) {
    expect
      .soft([command, await both(join(folder, 'junk.db'), command)])
      .toEqual([command, [damaged, damaged]])
    expect
      .soft([command, await both(join(folder, 'none.db'), command)])
      .toEqual([command, [missing, missing]])
  }
  expect(await both(path, 'verify', '--seal', 'foreign.json')).toEqual([usage, usage])
})

test('a verification while another one runs on the server ends as something that is busy', async () => {
  const folder = scratchFolder()
  const { runtime } = await servedFile(folder)
  const silent = createServer((socket) => void socket.resume().on('error', () => {}))
  onTestFinished(() => void silent.close())
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const { port } = silent.address() as AddressInfo
  const server = await serve(runtime, { port: 0, storeUrl: `postgres://somebody@127.0.0.1:${port}/none` })
  onTestFinished(() => server.close())
  const stop = new AbortController()
  const first = runIn({ folder, signal: stop.signal }, 'verify', server.url)
  await once(silent, 'connection')
  expect(await runIn({ folder }, 'verify', server.url)).toMatchObject({
    code: cliExitCodes.busy,
    err: expect.stringContaining('one runs at a time') as string,
  })
  stop.abort()
  expect((await first).code).toBe(cliExitCodes.failed)
})

test('code is checked against the tasks of a server that takes workers', async () => {
  const folder = scratchFolder()
  const store = await openStore('sqlite::memory:', { lines: true })
  const runtime = await createRuntime({ store, tasks, logger: false })
  onTestFinished(() => runtime.close())
  const tokens = [
    { name: 'checks', hash: hashToken('secret'), scopes: ['work', 'read'] },
    { name: 'looks', hash: hashToken('other'), scopes: ['read'] },
  ] as const
  const server = await serve(runtime, { port: 0, remoteWorkers: store, tokens })
  onTestFinished(() => server.close())
  await runtime.result(await runtime.submit(greet, { name: 'Ada' }, { taskId: 'ada' }))
  await runtime.submit('wait', null, { taskId: 'waits' })
  for await (const { type } of runtime.events('waits')) if (type === 'task.waiting') break
  const variables = { AGENT_RUNTIME_TOKEN: 'secret' }
  const on = (...args: string[]) =>
    runIn({ folder, variables }, ...args, '--server', server.url, '--tasks', project)
  expect(await on('replay', 'ada')).toMatchObject({
    code: 0,
    out: expect.stringContaining('agreed: greet') as string,
  })
  expect(await on('deploy-check')).toMatchObject({
    code: 0,
    out: expect.stringContaining('fits the 1 unfinished task') as string,
  })
  expect(await on('replay', 'nobody')).toMatchObject({ code: cliExitCodes.missing })
  expect(await on('deploy-check', '--token', 'other')).toMatchObject({
    code: cliExitCodes.denied,
    err: expect.stringContaining('work') as string,
  })
})

test('a server that needs a token, or is not there, is said to be so', async () => {
  const folder = scratchFolder()
  const runtime = await createRuntime({ store: `sqlite::memory:`, tasks, logger: false })
  onTestFinished(() => runtime.close())
  const server = await serve(runtime, {
    port: 0,
    tokens: [
      { name: 'x', hash: hashToken('secret'), scopes: ['read'] },
      { name: 'y', hash: hashToken('answers'), scopes: ['operate'] },
    ],
  })
  onTestFinished(() => server.close())
  expect(await runIn({ folder }, 'stats', '--server', server.url)).toMatchObject({ code: 77, out: '' })
  const variables = { AGENT_RUNTIME_TOKEN: 'secret', AGENT_RUNTIME_SERVER: server.url }
  expect(await runIn({ folder, variables }, 'stats', '--json')).toMatchObject({ code: 0, err: '' })
  expect(await runIn({ folder, variables }, 'config', '--json')).not.toMatchObject({
    out: expect.stringContaining('secret') as string,
  })
  const misspelt = ['approvals', 'approve', 'ada', '--token', 'answers']
  expect(await runIn({ folder, variables }, ...misspelt)).toMatchObject({
    code: 2,
    err: expect.stringContaining('ada is no id of a request: agent-runtime approvals lists them') as string,
  })
  const refused = await runIn({ folder, variables }, 'cancel', 'x')
  expect(refused).toMatchObject({ code: 77, err: expect.stringContaining('scope operate') as string })
  await server.close()
  const gone = await runIn({ folder, variables }, 'stats')
  expect(gone).toMatchObject({
    code: 75,
    err: expect.stringContaining(`no server answers at ${server.url}`) as string,
  })
  const both = await runIn({ folder }, 'stats', '--server', server.url, '--store', 'x.db')
  expect(both).toMatchObject({
    code: 2,
    err: expect.stringContaining('either --store or --server') as string,
  })
})
