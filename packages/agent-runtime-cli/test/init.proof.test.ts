import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, watch } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bin, runIn, scratchFolder } from './stores-and-shells.ts'

/** Each line of a shell starts Node anew. */
const slow = { timeout: 300_000 }
const packages = join(import.meta.dirname, '../..')

/** A new project, with the packages of this workspace installed. */
async function project(): Promise<string> {
  const folder = scratchFolder()
  expect(await runIn({ folder }, 'init', 'my-agent')).toMatchObject({ code: 0, err: '' })
  expect(await runIn({ folder }, 'init', 'my-agent')).toMatchObject({ code: 73, out: '' })
  const home = join(folder, 'my-agent')
  mkdirSync(join(home, 'node_modules/@ku0'), { recursive: true })
  for (const name of ['agent-runtime', 'agent-runtime-cli'])
    symlinkSync(join(packages, name), join(home, 'node_modules/@ku0', name))
  symlinkSync(join(packages, 'agent-runtime-cli/node_modules/zod'), join(home, 'node_modules/zod'))
  symlinkSync(join(packages, '../node_modules/@types'), join(home, 'node_modules/@types'))
  return home
}

test('a new project compiles, passes its test, and runs its task at once', slow, async () => {
  const cwd = await project()
  const run = (command: string, ...args: string[]) => spawnSync(command, args, { cwd, encoding: 'utf8' })
  const types = run(process.execPath, join(packages, '../node_modules/typescript/bin/tsc'), '-p', '.')
  expect([types.status, types.stdout]).toEqual([0, ''])
  expect(run(process.execPath, '--test', 'test/**/*.test.ts')).toMatchObject({ status: 0 })

  const worker = spawn(process.execPath, [bin, 'worker', '--ready-file', 'ready'], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  worker.stderr.on('data', (data: Buffer) => (said += data.toString()))
  await appears(join(cwd, 'ready'), cwd)
  const answer = run(process.execPath, bin, 'submit', 'greet', '{"name":"Ada"}', '--wait')
  expect([answer.status, answer.stdout]).toEqual([0, 'Hello Ada\n'])
  expect(run(process.execPath, bin, 'check')).toMatchObject({ status: 0, stdout: 'well: nothing is stuck\n' })
  worker.kill('SIGTERM')
  const [code] = (await once(worker, 'close')) as [number | null]
  expect(code).toBe(0)
  expect(said).toMatch(/^made the new store sqlite:.*tasks\.db\nready: runs greet of sqlite:.*tasks\.db\n/)
  expect(said).toMatch(/draining\nstopped\n$/)
  expect(existsSync(join(cwd, 'ready'))).toBe(false)

  const job = (...args: string[]) => run(process.execPath, bin, 'worker', '--mode', 'job', ...args)
  expect(job()).toMatchObject({ status: 0, stdout: '' })
  run(process.execPath, bin, 'submit', 'greet', '{"name":"Bob"}')
  expect(job('--json').stdout).toContain('"how":"task.completed"')
})

test('a hybrid worker starts its jobs as processes, and ends when it has to', slow, async () => {
  const cwd = await project()
  const tasks = join(import.meta.dirname, 'project/tasks.ts')
  const agent = (...args: string[]) => spawnSync(process.execPath, [bin, ...args], { cwd, encoding: 'utf8' })
  const worker = spawn(
    process.execPath,
    [bin, 'worker', tasks, '--mode', 'hybrid', '--ready-file', 'ready', '--json'],
    {
      cwd,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  let said = ''
  worker.stdout.on('data', (data: Buffer) => (said += data.toString()))
  await appears(join(cwd, 'ready'), cwd)
  const { stdout } = agent('submit', 'digest', '21', '--tasks', tasks)
  expect(agent('result', stdout.trim(), '--wait', '--timeout', '60s')).toMatchObject({
    status: 0,
    stdout: '42\n',
  })
  // The job's own lines come by a pipe, and may come after its result.
  while (!said.includes('job.claimed')) await once(worker.stdout, 'data')
  worker.kill('SIGTERM')
  expect(((await once(worker, 'close')) as [number | null])[0]).toBe(0)
  expect(said).toContain(`{"type":"job.claimed","taskId":"${stdout.trim()}"}`)
})

/** Resolves once a file is there. */
async function appears(file: string, folder: string): Promise<void> {
  const watching = new AbortController()
  const changed = watch(folder, { signal: watching.signal })
  try {
    while (!existsSync(file)) await once(changed, 'change')
  } finally {
    watching.abort()
  }
}
