// The gym itself, end to end: real processes on a small scenario, through its command.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Client } from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { startPostgres } from '../src/place/postgres-server.ts'
import { readReport } from '../src/report/read-report.ts'

const bin = resolve(import.meta.dirname, '../bin/gym-run.mjs')

const small = {
  id: 'small',
  title: 'Killed and resumed',
  about: 'Six tasks, one crash.',
  category: 'execution-scale',
  difficulty: 'easy',
  acceptance: ['resume'],
  config: { maxInFlightPerWorker: 3 },
  tree: { folders: 2, filesPerFolder: 3, maxBytes: 256 },
  processes: [{ name: 'main', workers: { count: 1, capacity: 3 } }],
  workload: [
    { name: 'files', count: 4, work: { type: 'hash-files', steps: 2, hold: { gate: 'crash', at: 1 } } },
    { name: 'folders', count: 2, work: { type: 'inspect-folder' } },
  ],
  arrivals: [{ how: 'bulk', groups: ['files', 'folders'] }],
  faults: [
    { do: 'signal', process: 'main', signal: 'SIGKILL', when: { on: 'holding', count: 3 } },
    { do: 'open', gate: 'crash' },
    { do: 'start', process: 'main' },
  ],
  expect: [
    { measure: 'completed', equals: 6 },
    { measure: 'requeues', reason: 'owner_dead', equals: 3 },
    { measure: 'resumeMs.max', below: 30_000, samples: 3 },
  ],
  figure: { measure: 'resumeMs.p95', label: 'resume p95' },
}

interface Place {
  readonly folder: string
  readonly args: readonly string[]
}

function place(scenario: object): Place {
  const folder = mkdtempSync(join(tmpdir(), 'gym-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'scenarios'))
  mkdirSync(join(folder, 'tmp'))
  // A server that root starts runs as another user.
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, 'scenarios', 'small.json'), JSON.stringify(scenario))
  return {
    folder,
    args: ['--benchmarks', join(folder, 'scenarios'), '--report', join(folder, 'r.json'), '--seed', '7'],
  }
}

function start({ folder, args }: Place) {
  const child = spawn(process.execPath, [bin, ...args], {
    cwd: folder,
    env: { ...process.env, TMPDIR: join(folder, 'tmp'), INIT_CWD: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  const ended = new Promise<{ code: number | null; said: string }>((done) => {
    child.on('close', (code) => done({ code, said }))
  })
  return { child, ended }
}

it('runs a scenario whose process is killed, and reports what it measured', async () => {
  const there = place(small)
  const { code, said } = await start(there).ended
  expect(said).toMatch(/pass {2}small/)
  expect(code).toBe(0)
  const report = readReport(join(there.folder, 'r.json'))
  expect(report.summary.total).toMatchObject({ total: 1, passed: 1, score: 100 })
  expect(report.kpis).toMatchObject({
    tasks: { submitted: 6, accepted: 6, completed: 6, lost: 0 },
    duplicateEffects: 0,
    leaks: 0,
    resumeMs: { count: 3 },
  })
  expect(report.scenarios[0]?.repro).toContain('--only small --seed 7')
  expect(readFileSync(join(there.folder, 'r.html'), 'utf8')).toContain('main killed')
  expect(readFileSync(join(there.folder, 'r.junit.xml'), 'utf8')).toContain('tests="1" failures="0"')
  expect(readdirSync(join(there.folder, 'tmp'))).toEqual([])
})

it('runs in memory, and fails with 1 where an expectation does', async () => {
  const there = place({
    ...small,
    faults: [{ do: 'open', gate: 'crash' }],
    expect: [{ measure: 'completed', equals: 7 }],
  })
  const { code, said } = await start({ ...there, args: [...there.args, '--store', 'memory'] }).ended
  expect(said).toMatch(/FAIL {2}small/)
  expect(said).toContain('completed is 6, expected 7')
  expect(code).toBe(1)
  expect(readReport(join(there.folder, 'r.json')).env.store).toBe('memory')
})

it('runs on a PostgreSQL server that it is given, and leaves nothing there', async () => {
  const { url, stop } = await startPostgres({ fsync: false })
  onTestFinished(stop)
  const there = place(small)
  const { code, said } = await start({ ...there, args: [...there.args, '--store', url] }).ended
  expect(said).toMatch(/pass {2}small/)
  expect(code).toBe(0)
  const { env, scenarios } = readReport(join(there.folder, 'r.json'))
  expect(env).toMatchObject({ store: 'postgres', durability: 'full' })
  expect(env.versions).toHaveProperty('postgres')
  expect(scenarios[0]?.repro).toContain(`--store ${url.replace(':postgres@', '@')}`)
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'gym%'")
  await client.end()
  expect(rows).toEqual([])
})

it('starts a PostgreSQL server of its own, and ends it when it is interrupted', async () => {
  const there = place({ ...small, faults: [] })
  const { child, ended } = start({ ...there, args: [...there.args, '--store', 'postgres'] })
  const folders = () => readdirSync(join(there.folder, 'tmp')).map((name) => name.replace(/-[^-]*$/, ''))
  await expect.poll(folders).toContain('gym-small')
  expect(folders()).toContain('postgres')
  child.kill('SIGTERM')
  const { code, said } = await ended
  expect(said).toContain('Interrupted')
  expect(code).toBe(130)
  expect(readdirSync(join(there.folder, 'tmp'))).toEqual([])
})

it('G12 ends its processes when it is interrupted', async () => {
  const there = place({ ...small, faults: [] })
  const { child, ended } = start(there)
  // The tasks hold at a gate that nobody opens.
  await expect
    .poll(() => readdirSync(join(there.folder, 'tmp')).some((name) => name.startsWith('gym-small')))
    .toBe(true)
  child.kill('SIGINT')
  const { code, said } = await ended
  expect(said).toContain('Interrupted')
  expect(code).toBe(130)
  expect(readdirSync(join(there.folder, 'tmp'))).toEqual([])
})

it('G12 a reader that goes away, as of `| head`, is nothing to complain about', async () => {
  const child = spawn(process.execPath, [bin, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  child.stdout.destroy()
  expect([await ended, errors]).toEqual([[0, null], ''])
})

it('says what never came about when a scenario takes too long', async () => {
  const stuck = {
    ...small,
    timeoutMs: 3000,
    faults: [{ do: 'open', gate: 'crash', when: { on: 'holding', count: 5 } }],
  }
  const there = place(stuck)
  const { code, said } = await start(there).ended
  expect(code).toBe(1)
  expect(said).toContain('fault 1 (open) never came about: 3 of 5 holding')
  const [scenario] = readReport(join(there.folder, 'r.json')).scenarios
  expect(scenario?.kpis.tasks.lost).toBeGreaterThan(0)
})
