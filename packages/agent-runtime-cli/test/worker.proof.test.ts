import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Outlet, runCommand } from '../src/index.ts'
import { runIn, scratchFolder } from './stores-and-shells.ts'

const tasks = join(import.meta.dirname, 'project/tasks.ts')
/** Every worker starts a thread, which loads its part of the program anew. */
const slow = { timeout: 300_000 }
const quiet = { NODE_ENV: 'test' }

function agentOn(store = join(scratchFolder(), 'it.db')) {
  return (...args: string[]) => runIn({ variables: quiet }, ...args, '--store', store)
}

test('a job runs one task and ends with 0, also when there is nothing to do', slow, async () => {
  const agent = agentOn()
  const job = (...args: string[]) => agent('worker', tasks, '--mode', 'job', ...args)
  expect(await job()).toEqual({ code: 0, out: '', err: 'nothing to do\n' })
  const first = await agent('submit', 'greet', '{"name":"Ada"}')
  await agent('submit', 'greet', '{"name":"Bob"}')
  const ran = await job('--json')
  expect(
    ran.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toMatchObject([
    { type: 'claimed', taskId: first.out.trim(), task: 'greet' },
    { type: 'ended', taskId: first.out.trim(), how: 'task.completed' },
  ])
  expect(JSON.parse((await agent('stats', '--json')).out)).toMatchObject({
    depth: { normal: 1 },
    totals: { completed: 1 },
  })
})

test('a worker runs as many tasks at once as its capacity says, and warns of nothing', slow, async () => {
  const store = join(scratchFolder(), 'it.db')
  const control = new AbortController()
  let err = ''
  const heard = Promise.withResolvers<void>()
  const working = runCommand(
    ['worker', tasks, '--store', store, '--capacity', '20'],
    {
      variables: quiet,
      out: (text) => text.includes('ready') && heard.resolve(),
      err: (text) => {
        err += text
        if (err.includes('ready')) heard.resolve()
      },
    },
    control.signal,
  )
  await Promise.race([heard.promise, working])
  const known = JSON.parse((await agentOn(store)('workers', '--json')).out) as unknown
  control.abort()
  expect(await working).toBe(0)
  expect(JSON.stringify(known)).toContain('"capacity":20')
  expect(err).not.toContain('maxInFlightPerWorker')
})

test('8.6 a worker reports a stuck task', slow, async () => {
  const folder = scratchFolder()
  const store = join(folder, 'it.db')
  writeFileSync(join(folder, 'agent-runtime.config.ts'), 'export default { watchdog: { everyMs: 20 } }')
  await agentOn(store)('submit', 'elsewhere', '"x"')
  const control = new AbortController()
  let err = ''
  const code = await runCommand(
    ['worker', tasks, '--store', store, '--types', 'greet'],
    {
      folder,
      variables: quiet,
      out: () => {},
      err: (text) => {
        err += text
        if (err.includes('stuck: ')) control.abort()
      },
    },
    control.signal,
  )
  expect(code).toBe(0)
  expect(err).toMatch(/stuck: elsewhere [\w-]+, no worker for .*: no worker runs type elsewhere/)
})

test(
  'a job whose task waits is not done and says until when, and has failed when its task has',
  slow,
  async () => {
    const agent = agentOn()
    const job = (...args: string[]) => agent('worker', tasks, '--mode', 'job', ...args)
    await agent('submit', 'wait', 'null')
    expect(await job()).toMatchObject({ code: 75, err: expect.stringContaining('task waiting') as string })
    await agent('submit', 'wait', 'null')
    expect(await job('--waiting-exit', '0')).toMatchObject({ code: 0 })
    await agent('submit', 'nap', 'null')
    expect(await job()).toMatchObject({
      code: 75,
      err: expect.stringMatching(/task waiting [\w-]+, due \d{4}-\d\d-\d\dT[\d:.]+Z\n$/) as string,
    })
    await agent('submit', 'fail', '"no luck"')
    expect(await job()).toMatchObject({ code: 1, err: expect.stringContaining('task failed') as string })
  },
)

test('a job waits for a task for so long, and takes only types that it was asked to run', slow, async () => {
  const agent = agentOn()
  await agent('submit', 'fail', '"not this"')
  const job = agent('worker', tasks, '--mode', 'job', '--types', 'greet', '--wait', '20s')
  await agent('submit', 'greet', '{"name":"Ada"}')
  expect(await job).toMatchObject({ code: 0, err: expect.stringContaining('task completed') as string })
  expect(JSON.parse((await agent('stats', '--json')).out)).toMatchObject({
    depth: { normal: 1 },
    totals: { failed: 0 },
  })
})

test(
  'a hybrid worker runs interactive and normal tasks itself and starts a job for each batch task, so many at most',
  slow,
  async () => {
    const store = join(scratchFolder(), 'it.db')
    const agent = agentOn(store)
    const control = new AbortController()
    let most = 0
    const jobsLanes = new Set<string | undefined>()
    const alive = new Set<readonly string[]>()
    // The jobs run in this process: what they are given is what processes would be.
    const spawn: Outlet['spawn'] = (args, { heard }) => {
      alive.add(args)
      jobsLanes.add(args[args.indexOf('--lanes') + 1])
      most = Math.max(most, alive.size)
      const ended = runIn({ variables: quiet }, ...args).then(({ code, out }) => {
        for (const line of out.trim().split('\n')) heard?.(line)
        alive.delete(args)
        return code
      })
      return { ended, stop: () => undefined }
    }
    const worker = runIn(
      { variables: quiet, spawn, signal: control.signal },
      'worker',
      tasks,
      '--mode',
      'hybrid',
      '--max-jobs',
      '2',
      '--store',
      store,
    )
    const sent = await Promise.all(
      // The lane of the task decides, not that of its type.
      [1, 2, 3].map(async (n) =>
        (await agent('submit', n === 3 ? 'work' : 'digest', String(n), '--lane', 'batch')).out.trim(),
      ),
    )
    expect(await agent('submit', 'greet', '{"name":"Ada"}', '--wait')).toMatchObject({
      code: 0,
      out: 'Hello Ada\n',
    })
    const results = await Promise.all(
      sent.map(async (taskId) => (await agent('result', taskId, '--wait')).out),
    )
    expect(results).toEqual(['2\n', '4\n', '6\n'])
    control.abort()
    const { code, err } = await worker
    expect(code).toBe(0)
    expect(err).toMatch(
      /^ready: runs interactive and normal tasks of greet, fail, wait, digest, work, nap, review itself, and batch tasks in jobs, 2 at most\n/,
    )
    expect(jobsLanes).toEqual(new Set(['batch']))
    expect(most).toBeLessThanOrEqual(2)
  },
)

test(
  'the jobs of a hybrid worker on a server have its token, and no list of processes shows it',
  slow,
  async () => {
    const folder = scratchFolder()
    const agent = (...args: string[]) => runIn({ folder, variables: quiet }, ...args)
    const scopes = ['--scopes', 'read,submit,work', '--store', 'it.db']
    const token = (await agent('token', 'create', 'worker', ...scopes)).out.trim()
    const [serves, works] = [new AbortController(), new AbortController()]
    const ready = Promise.withResolvers<string>()
    const serving = runCommand(
      ['serve', '--store', 'it.db', '--port', '0', '--json'],
      {
        folder,
        variables: quiet,
        out: (text) => ready.resolve((JSON.parse(text) as { readonly url: string }).url),
        err: () => undefined,
      },
      serves.signal,
    )
    const url = await ready.promise
    const started: string[] = []
    const spawn: Outlet['spawn'] = (args, { heard, env = {} }) => {
      started.push(args.join(' '))
      const ended = runIn({ folder, variables: { ...quiet, ...env } }, ...args).then(({ code, out }) => {
        for (const line of out.trim().split('\n')) heard?.(line)
        return code
      })
      return { ended, stop: () => undefined }
    }
    const worker = runIn(
      { folder, variables: quiet, spawn, signal: works.signal },
      'worker',
      tasks,
      '--mode',
      'hybrid',
      '--store',
      url,
      '--token',
      token,
    )
    const onServer = ['--server', url, '--token', token]
    const taskId = (await agent('submit', 'digest', '21', '--lane', 'batch', ...onServer)).out.trim()
    const result = await agent('result', taskId, '--wait', '--timeout', '60s', ...onServer)
    works.abort()
    expect(await worker).toMatchObject({ code: 0 })
    serves.abort()
    expect(await serving).toBe(0)
    expect(result).toMatchObject({ code: 0, out: '42\n' })
    expect(started.join('\n')).toContain(url)
    expect(started.join('\n')).not.toContain(token)
  },
)
