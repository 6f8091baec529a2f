import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, definePipeline, defineSupervisor, defineTask, type Runtime } from '@ku0/agent-runtime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runCommand } from '../src/index.ts'
import { draws } from '../../../tools/draws.ts'
import { runIn } from './stores-and-shells.ts'

const greet = defineTask({ type: 'greet', input: z.object({ name: z.string() }) }, async (ctx, { name }) => {
  const text = await ctx.step('compose', () => `Hello ${name}`)
  await ctx.emit('Hel')
  await ctx.emit('lo\n')
  return text
})
const fail = defineTask({ type: 'fail', input: z.string() }, (_, why) => {
  throw new Error(why)
})
const recovers = defineTask(
  { type: 'recovers', input: z.null(), recovery: { fallbackModels: ['small'] } },
  (ctx) => {
    if (ctx.failure === undefined) throw Object.assign(new Error('full'), { code: 'limit_exceeded' })
    return ctx.model
  },
)
const bare = defineTask({ type: 'bare', input: z.undefined() }, (_, input) => `took ${String(input)}`)
const wait = defineTask({ type: 'wait', input: z.null() }, (ctx) => ctx.waitForSignal('go'))
const family = defineTask({ type: 'family', input: z.number() }, async (ctx, children) => {
  for (let n = 0; n < children; n++) await ctx.call(`child ${n}`, greet, { name: `child ${n}` })
})
const flaky = defineTask({ type: 'flaky', input: z.null() }, async (ctx) => {
  await ctx.step('first', () => 1)
  await ctx.step('call', { retry: { attempts: 2, backoff: { initialMs: 3_600_000 } } }, () => {
    throw new Error('503 from the provider')
  })
})
const asks = defineTask({ type: 'asks', input: z.null() }, async (ctx) => {
  await ctx.emit('draft\n')
  return (await ctx.requestApproval('publish', 'draft')).value ?? null
})

const crowd = defineTask({ type: 'crowd', input: z.null() }, async (ctx) => {
  await ctx.requestApproval('begin', null)
  await Promise.all(Array.from({ length: 120 }, (_, n) => ctx.waitForSignal(`signal ${n}`)))
})

const guards = defineSupervisor({
  type: 'guards',
  input: z.null(),
  endsWith: 'cancel',
  children: { waits: { task: wait, input: () => null } },
})

const finds = defineTask({ type: 'finds', input: z.null() }, async (ctx) => {
  for (const page of ['a', 'b', 'c']) await ctx.publish('page', { page })
})
const reads = defineTask({ type: 'reads', input: z.undefined() }, async (ctx) => {
  await ctx.waitForSignal('go')
  while ((await ctx.receive(['page'])).length > 0) await ctx.publish('read', 1)
})
const findAndRead = definePipeline({
  name: 'line',
  input: z.null(),
  maxUnread: 2,
  stages: [
    { name: 'find', task: finds, input: () => null, publishes: { page: z.unknown() } },
    { name: 'read', task: reads, subscribes: ['page'], publishes: { read: z.number() } },
  ],
})

const mourns = defineTask({ type: 'mourns', input: z.null() }, (ctx) => ctx.call('loss', fail, 'lost'))

const folder = mkdtempSync(join(tmpdir(), 'cli-looking-'))
const store = join(folder, 'it.db')
const agent = (...args: string[]) => runIn({ folder }, ...args, '--store', store)
const json = async (...args: string[]): Promise<unknown> => JSON.parse((await agent(...args, '--json')).out)
let runtime: Runtime
const ids = { greet: '', fail: '', wait: '', family: '' }

beforeAll(async () => {
  runtime = await createRuntime({
    store: `sqlite:${store}`,
    tasks: [
      greet,
      fail,
      wait,
      family,
      recovers,
      mourns,
      flaky,
      asks,
      crowd,
      guards,
      bare,
      finds,
      reads,
      findAndRead,
    ],
    config: { quotaConfig: { labels: { team: { red: { maxInFlight: 2 } } } } },
    thread: false,
    strict: false,
    logger: false,
    telemetry: false,
  })
  const parked = Promise.withResolvers<unknown>()
  using _ = runtime.on('task.waiting', ({ taskId }) => taskId === ids.wait && parked.resolve(taskId))
  ids.greet = (await runtime.submit(greet, { name: 'Ada' }, { labels: { team: 'blue' } })).taskId
  ids.fail = (await runtime.submit(fail, 'no\u001b[2J luck')).taskId
  ids.family = (await runtime.submit(family, 2)).taskId
  ids.wait = (await runtime.submit(wait, null)).taskId
  await Promise.allSettled([runtime.result(ids.greet), runtime.result(ids.fail), runtime.result(ids.family)])
  await parked.promise
})
afterAll(async () => {
  await runtime.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe('commands that look', () => {
  test('list shows tasks as a table, and a page of them as JSON', async () => {
    const { code, out, err } = await agent('list')
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^TASK +TYPE +STATE +STEPS +SUBMITTED +NOTE\n/)
    expect(out.trim().split('\n')).toHaveLength(7)
    expect(await json('list', '--state', 'failed')).toMatchObject({ tasks: [{ taskId: ids.fail }] })
    expect(await json('list', '--type', 'greet,wait', '--state', 'waiting')).toMatchObject({
      tasks: [{ taskId: ids.wait }],
    })
    expect((await agent('list', '--type', 'nope')).out).toBe('no task matches\n')
    expect(await json('list', '--label', 'team=blue')).toMatchObject({ tasks: [{ taskId: ids.greet }] })
    expect((await agent('list', '--label', 'team=blue', '--label', 'a=b')).out).toBe('no task matches\n')
    expect((await agent('list', '--client', 'nobody')).out).toBe('no task matches\n')
    expect(await agent('list', '--label', 'team')).toMatchObject({ code: 2 })
  })

  test('list names the cursor of the next page beside the page', async () => {
    const first = await agent('list', '-n', '2')
    const [, cursor = ''] = /--cursor (\d+)/.exec(first.err) ?? []
    const { tasks } = (await json('list', '--cursor', cursor)) as { tasks: unknown[] }
    expect(tasks).toHaveLength(4)
  })

  test('no control character of a task gets through', async () => {
    for (const args of [['list'], ['show', ids.fail], ['dead-letters'], ['explain', ids.fail]])
      expect((await agent(...args)).out).not.toContain('\u001b')
    expect((await agent('dead-letters')).out).toContain(String.raw`no\u001b[2J luck`)
  })

  test('show draws the steps of a task on one scale of time', async () => {
    const { out } = await agent('show', ids.greet)
    expect(out).toMatch(/^greet completed \d+ ms after its submission\n/)
    expect(out).toMatch(/ {2}step compose +█+ +\d+ ms\n/)
    expect(out).toContain('labels')
    expect(await json('show', ids.greet)).toMatchObject({
      state: 'completed',
      output: 'Hello Ada',
      bars: [{ kind: 'queue' }, { kind: 'step', key: 'compose', hasFailed: false }],
    })
    expect((await agent('show', ids.wait)).out).toMatch(/ {2}wait go +░+ .* so far\n/)
    expect((await agent('show', ids.fail)).out).toContain('Error: no')
  })

  test('show draws one bar for a child, and no bar for a moment in the queue', async () => {
    const { bars } = (await json('show', ids.family)) as { bars: { kind: string; key: string }[] }
    expect(bars.filter(({ kind }) => kind !== 'queue').map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      'child child 0',
      'child child 1',
    ])
    expect((await agent('show', ids.family)).out).not.toContain('$ku0')
  })

  test('events shows the history and ends with it, whether or not the task has ended', async () => {
    const { out } = await agent('events', ids.wait)
    expect(out.trim().split('\n').at(-1)).toContain('task.waiting')
    const lines = (await agent('events', ids.greet, '--json')).out.trim().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
      'task.queued',
      'task.started',
      'step.completed',
      'task.completed',
    ])
  })

  test('output writes texts as they were emitted', async () => {
    expect((await agent('output', ids.greet)).out).toBe('Hello\n')
    expect((await agent('output', ids.greet, '--json')).out.trim().split('\n')).toHaveLength(2)
  })

  test('result prints the result, or says that there is none yet, with a code of its own', async () => {
    expect(await agent('result', ids.greet)).toEqual({ code: 0, out: 'Hello Ada\n', err: '' })
    expect(await json('result', ids.greet)).toBe('Hello Ada')
    expect(await agent('result', ids.wait)).toMatchObject({ code: 75, out: '' })
    expect(await agent('result', ids.wait, '--wait', '--timeout', '1ms')).toMatchObject({ code: 75, out: '' })
    expect(await agent('result', ids.fail)).toMatchObject({ code: 1, out: '' })
  })

  test('tree draws children below their parent', async () => {
    const { out } = await agent('tree', ids.family)
    expect(out).toMatch(/^family completed .*\n├─ greet completed .*\n└─ greet completed /)
    expect(await json('tree', ids.family)).toMatchObject({ children: [{}, {}] })
  })

  test('explain, queue, stats and workers answer in words and as JSON', async () => {
    expect((await agent('explain', ids.wait)).out).toMatch(/^waiting: waits for /)
    expect((await agent('queue')).out).toMatch(/^0 tasks queued, 1 waiting\nFOR +STATE +TASKS/)
    expect(await json('stats')).toMatchObject({ waiting: 1, totals: { failed: 1 } })
    expect((await agent('stats')).out).toMatch(/waiting +1\n/)
    const series = await json('stats', '--since', '1h')
    expect(series).toHaveProperty('points.length', 20)
    expect(series).toMatchObject({ stepMs: 180_000 })
    expect(series).toHaveProperty('points.19.failed', 1)
    expect((await agent('stats', '--since', '1h')).out).toMatch(
      /^UNTIL +STARTED +COMPLETED +FAILED +REFUSED +RUNNING/,
    )
    const red = await runtime.submit(wait, null, { labels: { team: 'red' } })
    expect((await agent('stats')).out).toMatch(/QUOTA +RUNNING +QUEUED\nlabel:team=red +1 of 2 +\d\n/)
    await runtime.cancel(red)
    expect((await agent('workers')).out).toMatch(/0 of 4 .*fail/)
  })

  test('drain and --undo change the state of a worker, and say which is not there', async () => {
    const [{ workerId } = { workerId: '' }] = await runtime.workers()
    expect(await json('drain', workerId, '--wait')).toEqual([{ workerId, state: 'draining', inFlight: 0 }])
    expect((await agent('workers')).out).toContain('draining')
    expect(await agent('drain', workerId, '--undo')).toMatchObject({ code: 0, out: `${workerId}: idle\n` })
    expect(await agent('drain', 'nobody')).toMatchObject({
      code: 66,
      out: expect.not.stringContaining('nobody'),
    })
  })

  test('14.3 show and explain say what was done about a failure', async () => {
    const receipt = await runtime.submit(recovers, null)
    await runtime.result(receipt)
    expect((await agent('show', receipt.taskId)).out).toMatch(
      /model +small\n(?:.*\n)*recovery +after resource_exhaustion: fell back to model small\n/,
    )
    expect((await agent('explain', receipt.taskId)).out).toMatch(
      /model +small\n(?:.*\n)*.*last because it failed: fell back to model small/,
    )
  })

  test('a task that is not there has the code of a missing thing, and no stack', async () => {
    for (const command of ['show', 'events', 'output', 'result', 'tree', 'explain', 'retry'])
      expect(await agent(command, 'nobody')).toEqual({
        code: 66,
        out: '',
        err: expect.stringMatching(/^agent-runtime: [^\n]*nobody[^\n]*\n$/) as string,
      })
  })
})

describe('commands that act', () => {
  test('submit stores a task, checks nothing without task types, and waits for the result', async () => {
    const { code, out, err } = await agent('submit', 'greet', '{"name":"Bob"}', '--wait')
    expect([code, out]).toEqual([0, 'Hello Bob\n'])
    expect(err).toMatch(/^task [\w-]+\n$/)
    const followed = await agent('submit', 'greet', '{"name":"Eve"}', '--follow')
    expect([followed.code, followed.out]).toEqual([0, 'Hello\nHello Eve\n'])
    const failed = await agent('submit', 'fail', '"bad"', '--wait')
    expect([failed.code, failed.out]).toEqual([1, ''])
    expect(failed.err).toMatch(/bad/)
  })

  test('a refused submission has its id on standard output, and the reason beside it', async () => {
    const path = join(folder, 'refuses.db')
    writeFileSync(
      join(folder, 'refuses.config.ts'),
      `export default { store: ${JSON.stringify(path)}, config: { batchBackpressureThreshold: 1 } }`,
    )
    const submit = ['submit', 'work', '1', '--lane', 'batch', '--config', 'refuses.config.ts']
    expect((await runIn({ folder }, ...submit)).code).toBe(0)
    const refused = await runIn({ folder }, ...submit)
    expect(refused).toEqual({
      code: 1,
      out: expect.stringMatching(/^[\w-]{36}\n$/) as string,
      err: expect.stringMatching(/^refused \(backpressure\): [^\n]*\n$/) as string,
    })
    const asJson = await runIn({ folder }, ...submit, '--json')
    expect([JSON.parse(asJson.out), asJson.err]).toMatchObject([{ accepted: false }, ''])
  })

  test('submit reads its input from standard input and from a file', async () => {
    const input = async function* () {
      yield Buffer.from('{"name":')
      yield '"Zoë"}'
    }
    const piped = await runIn({ folder, input }, 'submit', 'greet', '--wait', '--store', store)
    expect(piped.out).toBe('Hello Zoë\n')
    expect(await agent('submit', 'greet', '{oops')).toMatchObject({ code: 2, out: '' })
    expect(await agent('submit', 'greet', '--input', 'nowhere.json')).toMatchObject({ code: 66, out: '' })
  })

  test('a server that is named as a store is refused with the flag that takes it', async () => {
    for (const command of [['list'], ['submit', 'greet', '1']])
      expect(await runIn({ folder }, ...command, '--store', 'http://localhost:7007')).toMatchObject({
        code: 2,
        err: expect.stringContaining('use --server http://localhost:7007') as string,
      })
  })

  test('a type that nobody runs is said at once', async () => {
    const { code, out, err } = await agent('submit', 'gret', '1')
    expect([code, out]).toEqual([0, expect.stringMatching(/^[\w-]{36}\n$/)])
    expect(err).toContain('no worker runs gret now: the task waits for one (there are workers for ')
    await agent('cancel', out.trim())
  })

  test('pause keeps the tasks of a type and a lane waiting, explain, queue and stats say so, and resume lets them start', async () => {
    const paused = await agent('pause', '--type', 'greet', '--lane', 'batch')
    expect(paused).toMatchObject({ code: 0, err: '' })
    expect(paused.out).toMatch(/^paused: lane batch \(.*\), type greet \(.*\)\n$/)
    const taskId = (await agent('submit', 'greet', '{"name":"Ada"}')).out.trim()
    expect((await agent('explain', taskId)).out).toMatch(
      /^queued: the type greet is paused since .*; resume it with agent-runtime resume --type greet/,
    )
    expect((await agent('queue')).out).toMatch(/the end of a pause +queued +1/)
    expect((await agent('stats')).out).toMatch(/paused +lane batch \(.*\), type greet/)
    expect(await json('resume', '--lane', 'batch')).toMatchObject({ changed: 1, paused: [{ type: 'greet' }] })
    expect(await agent('resume', '--type', 'greet')).toMatchObject({ code: 0, out: 'nothing is paused\n' })
    expect((await agent('result', taskId, '--wait')).out).toBe('Hello Ada\n')
    expect(await agent('pause')).toMatchObject({ code: 2, out: '' })
    expect((await agent('pause', '--lane', 'quick')).code).toBe(2)
  })

  test('a task is retried once by its id, unless --again asks for more', async () => {
    const { taskId } = await runtime.submit(fail, 'once')
    await expect(runtime.result(taskId)).rejects.toThrow('once')
    const tries = [await json('retry', taskId), await json('retry', taskId)] as { taskId: string }[]
    expect(tries[1]).toEqual({ ...tries[0], deduplicated: true })
    expect(await json('retry', taskId, '--again')).toMatchObject({ deduplicated: false })
  })

  test('a follower learns that the task waits for a person, and how to answer', async () => {
    const { taskId } = await runtime.submit(asks, null)
    await expect.poll(async () => (await runtime.status(taskId))?.state).toBe('waiting')
    const noted = Promise.withResolvers<string>()
    let out = ''
    const following = runCommand(['output', taskId, '--follow', '--store', store], {
      folder,
      variables: {},
      out: (text) => void (out += text),
      err: noted.resolve,
    })
    expect(await noted.promise).toBe(
      `the task waits for the approval 'publish': agent-runtime approvals --task ${taskId}\n`,
    )
    const [asked] = (await runtime.approvals.list({ task: taskId })).approvals
    await runtime.approvals.approve(asked?.approvalId ?? '')
    expect([await following, out]).toEqual([0, 'draft\n'])
  })

  test('explain says why a task failed once', async () => {
    const { out } = await agent('explain', ids.fail)
    expect(out).toMatch(/^failed \(error\) in attempt 1: /)
    expect(out.match(/luck/g)).toHaveLength(1)
  })
})

// What the long tests alone look at.
for (const uses of draws<readonly string[]>([], ['rarer']))
  describe(`${uses} uses of commands`, () => {
    test('the last digits of an id name its task, and a whole id goes before', async () => {
      const taskId = (await agent('submit', 'nobodys', 'null')).out.trim()
      const short = taskId.slice(24).replace(/^0+/, '')
      for (const command of ['show', 'tree'])
        expect([command, await json(command, short)]).toEqual([command, await json(command, taskId)])
      expect(await agent('events', short)).toEqual(await agent('events', taskId))
      for (const command of [
        ['approvals', 'trail'],
        ['budgets', 'show'],
      ])
        expect(await agent(...command, short)).toMatchObject({ code: 0 })
      expect(await agent('list', '--parent', short)).toMatchObject({ code: 0, out: 'no task matches\n' })
      const none = await agent('pipelines', short)
      expect(none.err).toContain(taskId)
      await agent('submit', 'nobodys', 'null', '--id', short)
      expect(await json('show', short)).toMatchObject({ taskId: short })
      expect((await agent('cancel', short, taskId.slice(24))).out).toBe(
        `${short}: canceled\n${taskId}: canceled\n`,
      )
      expect(await agent('show', 'ffffffff')).toMatchObject({ code: 66, out: '' })
    })

    test('submit takes no input for undefined where standard input is empty or a terminal, unless - names it', async () => {
      const submit = ['submit', 'bare', '--wait', '--store', store]
      const input = async function* () {}
      const never = () => {
        throw new Error('a terminal is not asked')
      }
      const took = { code: 0, out: 'took undefined\n' }
      expect(await runIn({ folder, input }, ...submit)).toMatchObject(took)
      expect(await runIn({ folder }, ...submit)).toMatchObject(took)
      expect(await runIn({ folder, input: never, isInputTerminal: () => true }, ...submit)).toMatchObject(
        took,
      )
      const refused = { code: 2, out: '', err: expect.stringContaining('standard input is empty') as string }
      expect(await runIn({ folder, input }, ...submit, '-')).toMatchObject(refused)
      expect(await runIn({ folder, input }, ...submit, '--input', '-')).toMatchObject(refused)
    })

    test('a filter cancels only after the count was shown', async () => {
      for (let n = 0; n < 3; n++) await agent('submit', 'nobodys', String(n), '--client', 'ada')
      expect((await agent('cancel', '--client', 'ada', '--label', 'a=b')).out).toBe('no open task matches\n')
      expect((await agent('cancel', '--client', 'ada')).out).toContain('3 tasks would be canceled')
      expect((await agent('cancel', '--type', 'nobodys')).out).toBe(
        '3 tasks would be canceled; add --yes to cancel them\n',
      )
      expect(await json('list', '--type', 'nobodys', '--state', 'queued')).toMatchObject({
        tasks: [{}, {}, {}],
      })
      const done = await agent('cancel', '--type', 'nobodys', '--yes')
      expect([done.out, done.err]).toEqual(['3 tasks canceled\n', 'canceling 3 tasks\n'])
      expect(await agent('cancel')).toMatchObject({ code: 2 })
      expect(await agent('cancel', ids.greet)).toMatchObject({
        code: 1,
        out: `${ids.greet}: not canceled: it had ended\n`,
      })
      expect(await agent('cancel', ids.greet, 'nobody')).toMatchObject({
        code: 66,
        out: expect.stringContaining('nobody: not canceled: no task has this id\n') as string,
      })
      expect((await agent('signal', ids.greet, 'go', 'yes')).err).toMatch(
        /^agent-runtime: the value must be JSON, .*; write a text as '"yes"'; see agent-runtime signal --help\n$/,
      )
    })

    test('prune deletes by its flags, after the count was shown', async () => {
      expect(await agent('prune')).toMatchObject({ code: 2, out: '' })
      expect((await agent('prune', '--failed', '1h')).out).toMatch(
        /^nothing is to be deleted: no task is old enough, or .* kept for 1 d\n$/,
      )
      expect((await agent('prune', '--failed', '0s')).err).toContain(
        "'0s' is invalid; allowed: a duration of 1ms or more",
      )
      const counted = await agent('prune', '--canceled', '1ms')
      expect(counted.out).toMatch(
        /^(\d+) tasks? would be deleted: 0 completed, 0 failed, \1 canceled; add --yes to delete them\n$/,
      )
      expect((await agent('prune', '--canceled', '1ms', '--dry-run')).out).toBe(counted.out)
      expect(await agent('prune', '--canceled', '1ms', '--dry-run', '--yes')).toMatchObject({
        code: 2,
        err: expect.stringContaining('--dry-run only counts, and --yes deletes') as string,
      })
      expect((await agent('prune', '--canceled', '1ms', '--yes')).out).toMatch(/^\d+ tasks? deleted: /)
      // The newest task stays.
      expect((await agent('prune', '--canceled', '1ms')).out).toMatch(
        /^nothing is to be deleted: no task is old enough, or .* kept for 1 d\n$/,
      )
    })

    test('a filter retries each task once, however often it is called', async () => {
      const [, ...before] = (
        (await json('list', '--type', 'fail', '--state', 'failed')) as { tasks: unknown[] }
      ).tasks
      const counted = await agent('retry', '--type', 'fail', '--state', 'failed')
      expect(counted.out).toBe(
        `${before.length + 1} ${before.length === 0 ? 'task' : 'tasks'} would run again, except those that were retried before; add --yes to retry them\n`,
      )
      const first = await agent('retry', '--type', 'fail', '--state', 'failed', '--yes')
      expect(first.out).toMatch(/^\d+ tasks? submitted again\n/)
      await expect.poll(() => runtime.count({ types: ['fail'], states: ['queued', 'running'] })).toBe(0)
      const again = await agent('retry', '--type', 'fail', '--state', 'failed', '--yes')
      expect(again.out).toContain(' left alone: retried before; --again')
      expect((await json('retry', ids.fail)) as object).toMatchObject({ deduplicated: true })
    })

    test('show and explain say how the last try of a step failed, and what a retry has kept', async () => {
      const { taskId } = await runtime.submit(flaky, null)
      const until = async (state: string) =>
        expect.poll(async () => (await runtime.status(taskId))?.state).toBe(state)
      await until('waiting')
      const shown = (await agent('show', taskId)).out
      expect(shown).toMatch(/last error +step call: Error: 503 from the provider\n/)
      expect(shown).toContain("  the back-off before retry 1 of 'call' ")
      expect((await agent('explain', taskId)).out).toMatch(
        /^waiting: waits for the next try of 'call' until \S+ \(the last one failed: 503 from the provider\)\n$/,
      )
      await runtime.cancel(taskId)
      const again = (await json('retry', taskId)) as { taskId: string }
      const retried = (await agent('show', again.taskId)).out
      expect(retried).toMatch(new RegExp(`retry of +${taskId}\nkept +first\n`))
      await runtime.cancel(again.taskId)
    })

    test('a task that waits for much is noted by what is still open, and cut', async () => {
      const { taskId } = await runtime.submit(crowd, null)
      const waits = async () => {
        const task = await runtime.status(taskId)
        return task?.state === 'waiting' ? task.waits.length : 0
      }
      await expect.poll(waits).toBe(1)
      const [asked] = (await runtime.approvals.list({ task: taskId })).approvals
      await runtime.approvals.approve(asked?.approvalId ?? '')
      await expect.poll(waits).toBe(120)
      await runtime.signal(taskId, 'signal 1', null)
      await expect.poll(waits).toBe(119)
      const noted = Promise.withResolvers<string>()
      const following = runCommand(['output', taskId, '--follow', '--store', store], {
        folder,
        variables: {},
        out: () => undefined,
        err: noted.resolve,
      })
      const names = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => `'signal ${n}'`).join(', ')
      expect(await noted.promise).toBe(
        `the task waits for the signal ${names} and 109 more: agent-runtime signal ${taskId} NAME\n`,
      )
      expect((await agent('list', '--type', 'crowd')).out).toContain(
        'for signal signal 0, signal signal 2, signal signal 3 and 116 more',
      )
      await runtime.cancel(taskId)
      await following
    })

    test('14.1 a supervisor is shown, and its children are started, stopped and restarted', async () => {
      const { taskId } = await runtime.submit(guards, null)
      await expect.poll(async () => (await runtime.supervisors.count(taskId)).open).toBe(1)
      const greeter = ['greeter', 'greet', '{"name":"Bob"}', '--shutdown', '2m']
      const added = (await json('supervisors', 'start', taskId, ...greeter)) as { taskId: string }
      expect(await runtime.result(added.taskId)).toBe('Hello Bob')
      for (const time of ['30d', '0.5ms', '0s'])
        expect(
          await agent('supervisors', 'start', taskId, 'x', 'greet', '{}', '--shutdown', time),
        ).toMatchObject({
          code: 2,
          err: expect.stringContaining('a duration from 1ms to 1d') as string,
        })
      const again = (await json('supervisors', 'restart', taskId, 'greeter')) as { taskId: string }
      expect(await runtime.result(again.taskId)).toBe('Hello Bob')
      expect(await agent('supervisors', 'stop', taskId, 'waits')).toMatchObject({
        code: 0,
        out: 'child waits stopped\n',
      })
      expect(await agent('supervisors', 'stop', taskId, 'waits')).toMatchObject({
        code: 1,
        out: 'child waits had ended before: it is canceled\n',
      })
      expect((await agent('show', taskId)).out).toMatch(/child 'waits' .* canceled\n/)
      await agent('supervisors', 'start', taskId, 'brief', 'wait', '--restart', 'temporary')
      expect(await agent('supervisors', 'stop', taskId, 'brief')).toMatchObject({ code: 0 })
      expect(await agent('supervisors', 'stop', taskId, 'brief')).toMatchObject({
        code: 1,
        out: 'child brief had ended before: it is canceled\n',
      })
      const { out } = await agent('supervisors', 'show', taskId)
      expect(out).toMatch(
        /^supervisor +.*\nstrategy +one_for_one\nrestarts +at most 5 in 1 min; 0 restarts counted\n\n/,
      )
      expect(out).toMatch(/\nCHILD +TYPE +STATE +(?:TRY +)?RESTART +TO STOP +TASK\n/)
      expect(out).toMatch(/\nwaits +wait +canceled +transient {2,}\S{20,}\n/)
      expect(out).toMatch(/\ngreeter +greet +completed +transient +2 min +\S+\n/)
      expect((await agent('supervisors', 'show', ids.greet)).code).not.toBe(0)
      // Its pass may still be in its slot.
      const state = async () => (await runtime.status(taskId))?.state
      await expect.poll(state, { timeout: 50_000 }).toBe('waiting')
      const list = (await agent('supervisors')).out
      expect((await agent('list', '--state', 'waiting')).out).toContain(
        'for supervised children (one_for_one',
      )
      expect(list).toMatch(/^SUPERVISOR +TYPE +STATE +STRATEGY +CHILDREN +RUNNING +RESTARTS\n/)
      expect(list).toMatch(/ guards +waiting +one_for_one +0 of 2 open +0 +0 of 5 in 1 min\n/)
      expect(await json('supervisors', '--limit', '1')).toMatchObject({ supervisors: [{ taskId }] })
      await runtime.cancel(taskId)
      expect((await agent('supervisors')).out).toContain('no supervisor supervises now; --all lists')
      expect((await agent('supervisors', '--all')).out).toMatch(
        / guards +canceled +supervises no more +0 of 2 open +0 *\n/,
      )
    })

    test('13.2 pipelines are listed and shown with what holds them back, and their events are followed', async () => {
      const { taskId } = await runtime.submit(findAndRead, null)
      for await (const { sequence } of runtime.pipeline(taskId).events()) if (sequence === 2) break
      for await (const { type } of runtime.events(taskId)) if (type === 'task.waiting') break
      const list = (await agent('pipelines')).out
      expect(list).toMatch(/^PIPELINE +TYPE +STATE +STAGES +EVENTS +UNREAD +NO ROOM FOR\n/)
      expect(list).toMatch(/ line +waiting +0 of 2 ended +2 +2 +page\n/)
      const shown = (await agent('pipelines', taskId)).out
      expect(shown).toMatch(/\nfind +(running|waiting) +page +/)
      expect(shown).toMatch(/\nread +waiting +page 2 +/)
      expect(shown).toMatch(/\nEVENT +PUBLISHED +FROM +TO\npage +2 +find +read\nread +0 +read\n$/)
      const { stages } = (await json('pipelines', taskId)) as {
        stages: { tasks: { taskId: string }[] }[]
      }
      const [find = '', read = ''] = stages.map(({ tasks }) => tasks[0]?.taskId ?? '')
      for await (const { type } of runtime.events(find)) if (type === 'task.waiting') break
      const told = (await agent('explain', taskId)).out
      expect(told).toContain("stage 'read' has 2 of them to receive, and maxUnread is 2)")
      expect(told).toContain("; stage 'read' must receive some first")
      expect(told).toMatch(/\nchild +stage 'find', task \S+, waits for room for an event of type 'page'/)
      expect(told).toMatch(/\nchild +stage 'read', task \S+, waits for the signal 'go'\n/)
      await runtime.signal(read, 'go')
      const followed = await agent('pipelines', taskId, '--follow', '--type', 'page', '--json')
      const events = followed.out.trim().split('\n')
      expect(events.map((event) => (JSON.parse(event) as { data: unknown }).data)).toEqual(
        ['a', 'b', 'c'].map((page) => ({ page })),
      )
      expect((await agent('pipelines', taskId, '--events', '--after', '2', '--type', 'page')).out).toMatch(
        /^ +\d \S+  find +page +\{"page":"c"\}\n$/,
      )
      const some = await agent('pipelines', taskId, '--events', '-n', '2', '--type', 'page')
      expect([some.out.trim().split('\n').length, some.err]).toEqual([2, 'there are more: --after 2\n'])
      const all = await agent('pipelines', taskId, '--events', '-n', '3', '--type', 'page')
      expect([all.out.trim().split('\n').length, all.err]).toEqual([3, ''])
      const first = await agent('pipelines', taskId, '--follow', '-n', '1')
      expect(first.out.trim().split('\n')).toHaveLength(1)
      expect((await agent('pipelines', taskId)).out).toMatch(/\nread +completed +page 3 +/)
      expect(await agent('pipelines', ids.greet)).toMatchObject({ code: 66 })
      expect((await agent('pipelines', '--follow')).err).toContain('name the pipeline')
      expect((await agent('pipelines', taskId, '--after', '2')).err).toContain('add --events or --follow')
    })

    test('11.8 the credits of a client are bought, once for each key, and shown entry by entry', async () => {
      const buy = () => agent('credits', 'buy', 'acme', '12.5', '--key', 'order 1', '--note', 'invoice 7')
      expect((await buy()).out).toBe('acme has 1012.5 free credits\n')
      expect((await buy()).out).toMatch(
        /^bought before with this key: acme had 1012.5 free credits after entry \d+ of its ledger\n$/,
      )
      expect((await agent('credits', 'show', 'acme')).out).toMatch(/\nfree +1012.5\nreserved +0\nspent +0\n/)
      expect((await agent('credits', 'ledger', 'acme')).out).toMatch(
        / purchase +12.5 +1012.5 +0 +.*invoice 7\n$/,
      )
      // One with a key is kept for a day.
      expect((await agent('prune', '--ledger', '1ms')).out).toMatch(
        /^nothing is to be folded: it takes two entries of a ledger .* kept for 1 d\n$/,
      )
      for (const amount of ['1', '2']) await agent('credits', 'buy', 'fold', amount)
      expect((await agent('prune', '--ledger', '1ms')).out).toBe(
        '3 entries of ledgers would be folded; add --yes to fold them\n',
      )
      expect((await agent('prune', '--ledger', '1ms', '--yes')).out).toBe('3 entries of ledgers folded\n')
      expect((await agent('credits', 'ledger', 'fold')).out).toContain(
        'the entries up to this one were folded into it: 3 entries',
      )
      expect(await agent('credits', 'show', 'nobody')).toMatchObject({ code: 66 })
      expect((await agent('credits', 'buy', 'acme', 'many')).err).toContain('the amount is a number above 0')
    })

    test('a filter leaves out children, which the retry of their parent starts again', async () => {
      const { taskId } = await runtime.submit(mourns, null)
      await expect(runtime.result(taskId)).rejects.toThrow('lost')
      expect((await agent('show', taskId)).out).toMatch(/error +TaskFailed: .*\nbecause +Error: lost\n/)
      const found = async (...more: string[]) =>
        ((await json('retry', '--type', 'fail', ...more)) as { found: number }).found
      expect(await found('--children')).toBe((await found()) + 1)
      expect((await agent('retry', '--type', 'mourns')).out).toContain('1 task would run again')
      expect((await agent('retry', '--parent', taskId)).out).toContain('1 task would run again')
    })
  })
