import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, defineTask, type Runtime } from '@ku0/agent-runtime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { hears, titled } from './project/approving.ts'
import { greet, others, review } from './project/tasks.ts'
import { runIn } from './stores-and-shells.ts'

const spend = defineTask({ type: 'spend', input: z.null(), budget: { steps: 2, soft: 0.5 } }, async (ctx) => {
  for (let n = 0; n < 2; n++) await ctx.step(`step ${n}`, () => n)
  return 'spent'
})
const spread = defineTask({ type: 'spread', input: z.number() }, async (ctx, children) => {
  const asked = Array.from({ length: children }, (_, n) => () => ctx.call(`child ${n}`, review, `text ${n}`))
  await Promise.all(asked.map((start) => start()))
})
const pay = defineTask({ type: 'pay', input: z.null(), recovery: { crash: 'human_escalation' } }, () => {
  throw new Error('the bank has said no')
})
const folder = mkdtempSync(join(tmpdir(), 'cli-answers-'))
const store = join(folder, 'it.db')
const tasks = join(import.meta.dirname, 'project/tasks.ts')
const agent = (...args: string[]) => runIn({ folder }, ...args, '--store', store)
const json = async (...args: string[]): Promise<unknown> => JSON.parse((await agent(...args, '--json')).out)
let runtime: Runtime

beforeAll(async () => {
  const silent = { thread: false, strict: false, logger: false, telemetry: false } as const
  runtime = await createRuntime({
    store: `sqlite:${store}`,
    tasks: [greet, pay, review, spend, spread, titled, hears, ...others],
    ...silent,
  })
})
afterAll(async () => {
  await runtime.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Submits a task and waits until it waits. */
async function parked(type: string, input: unknown): Promise<string> {
  const isParked = Promise.withResolvers<unknown>()
  let taskId = ''
  const seen = new Set<string>()
  using _ = runtime.on('task.waiting', (event) => {
    seen.add(event.taskId)
    if (event.taskId === taskId) isParked.resolve(taskId)
  })
  ;({ taskId } = await runtime.submit(type, input))
  if (!seen.has(taskId)) await isParked.promise
  return taskId
}

describe('answers', () => {
  test('signal wakes a task that waits, and is kept for one that does not yet', async () => {
    const taskId = await parked('wait', null)
    expect((await agent('signal', taskId, 'later', '1')).out).toBe(
      'kept: the task is waiting and does not wait for later yet\n',
    )
    expect((await agent('signal', taskId, 'go', '"yes"')).out).toBe('delivered: the task waited for go\n')
    expect((await agent('result', taskId, '--wait')).out).toBe('yes\n')
    expect(await agent('signal', taskId, 'go')).toMatchObject({ code: 2 })
    expect(await agent('signal', taskId, 'go', '{oops')).toMatchObject({ code: 2 })
  })

  test('a value that its schema refuses is refused where it is given, and the task waits on', async () => {
    const taskId = await parked('titled', null)
    const { approvals } = (await json('approvals', '--task', taskId)) as {
      approvals: { approvalId: string }[]
    }
    const variables = { AGENT_RUNTIME_TASKS: join(import.meta.dirname, 'project/approving.ts') }
    const approve = (value: string) =>
      runIn(
        { folder, variables },
        'approvals',
        'approve',
        approvals[0]?.approvalId ?? '',
        '--value',
        value,
        '--store',
        store,
      )
    expect(await approve('5')).toMatchObject({ code: 2, err: expect.stringContaining('schema') as string })
    expect((await runtime.status(taskId))?.state).toBe('waiting')
    expect(await approve('"A title"')).toMatchObject({ code: 0 })
    expect(await runtime.result(taskId)).toBe('A title')
  })

  test('the module of task types is an option of approvals and signals, and checks what they give', async () => {
    const tasksOption = ['--tasks', join(import.meta.dirname, 'project/approving.ts')]
    const taskId = await parked('titled', null)
    const { approvals } = (await json('approvals', '--task', taskId)) as {
      approvals: { approvalId: string }[]
    }
    const [{ approvalId } = { approvalId: '' }] = approvals
    const refused = await agent('approvals', 'approve', approvalId, '--value', '5', ...tasksOption)
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('schema') as string })
    const heard = await parked('hears', null)
    const wrong = await agent('signal', heard, 'go', '5', ...tasksOption)
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('schema') as string })
    expect((await runtime.status(heard))?.state).toBe('waiting')
    expect((await agent('signal', heard, 'go', '"yes"', ...tasksOption)).code).toBe(0)
    expect(await runtime.result(heard)).toBe('yes')
    const approve = ['approvals', 'approve', approvalId, '--value', '"A title"']
    expect((await agent(...approve, ...tasksOption)).code).toBe(0)
    expect(await runtime.result(taskId)).toBe('A title')
  })

  test('approvals are listed, approved and rejected, and stay in the trail', async () => {
    const taskId = await parked('review', 'a text')
    const { approvals } = (await json('approvals', '--task', taskId)) as {
      approvals: { approvalId: string }[]
    }
    const [{ approvalId } = { approvalId: '' }] = approvals
    expect((await agent('approvals')).out).toMatch(
      /^APPROVAL +TYPE +KEY +ASKED +WHAT\n.*review +publish .*a text/,
    )
    expect((await agent('explain', taskId)).out).toContain(
      `agent-runtime approvals approve ${approvalId} --store ${store}\n`,
    )
    expect((await agent('approvals', 'approve', taskId)).err).toContain(
      `${taskId} is no id of a request: task ${taskId} asks under ${approvalId}; see `,
    )
    expect((await agent('approvals', 'approve', 'nobody')).err).toContain(
      'agent-runtime approvals lists them',
    )
    const approved = await agent('approvals', 'approve', approvalId, '--by', 'ada', '--value', '"better"')
    expect(approved.out).toMatch(new RegExp(`^approved: task ${taskId} is `))
    expect((await agent('result', taskId, '--wait')).out).toBe('better\n')
    expect((await agent('approvals', 'trail', taskId)).out).toMatch(/publish .* approved +ada\n/)
    expect((await agent('approvals')).out).toBe('nothing waits for a human\n')
    expect(await agent('approvals', 'reject', approvalId)).toMatchObject({ code: 1, out: '' })
    expect(await agent('approvals', 'aprove', approvalId)).toMatchObject({ code: 2 })
  })

  test('14.3 the question after a failure stands in words in the lists of approvals, and explain tells the no', async () => {
    const taskId = await parked('pay', null)
    const asks = 'the question whether it is to go on after its failure'
    const { out } = await agent('approvals', '--task', taskId)
    expect(out).toContain(` pay   ${asks} `)
    const [, approvalId = ''] = /\n(\S+) /.exec(out) ?? []
    expect((await agent('explain', taskId)).out).not.toContain('refused')
    const no = ['--by', 'ada', '--feedback', 'pay it by hand']
    expect((await agent('approvals', 'reject', approvalId, ...no)).code).toBe(0)
    expect((await agent('result', taskId, '--wait')).code).toBe(1)
    expect((await agent('explain', taskId)).out).toMatch(/\nrefused +by ada: pay it by hand\n/)
    expect((await agent('approvals', 'trail', taskId)).out).toMatch(
      new RegExp(`${asks} .* rejected +ada +pay it by hand\n`),
    )
  })

  test('explain writes the answer to an approval as a shell takes it', async () => {
    const taskId = "ada's booking"
    await runtime.submit('review', 'a text', { taskId })
    await expect.poll(async () => (await runtime.status(taskId))?.state).toBe('waiting')
    const [asked] = (await runtime.approvals.list({ task: taskId })).approvals
    const told = (await runIn({ folder }, 'explain', taskId, '--store', 'it.db')).out
    const id = asked?.approvalId.replace("'", `'"'"'`)
    expect(told).toContain(` agent-runtime approvals approve '${id}' --store it.db\n`)
    await runtime.cancel(taskId)
  })

  test('the first three open requests of a task are named', async () => {
    const { taskId } = await runtime.submit('spread', 4)
    const open = async () => (await runtime.approvals.list({ task: taskId, children: true })).approvals
    await expect.poll(async () => (await open()).length).toBe(4)
    const shown = (await open()).slice(0, 3).map(({ approvalId }) => approvalId)
    expect((await agent('approvals', 'approve', taskId)).err).toContain(
      `task ${taskId} asks under ${shown.join(', ')}, and more; see `,
    )
    await runtime.cancel(taskId)
  })

  test('budgets that ask are listed and answered', async () => {
    const taskId = await parked('spend', null)
    expect((await agent('budgets')).out).toMatch(
      new RegExp(`^budget of task ${taskId}: asks for more steps since .*; 1 parked\n`),
    )
    expect((await agent('budgets', 'show', taskId)).out).toMatch(/steps +2 +1 +1/)
    const answered = await agent('budgets', 'continue', taskId, '--raise', 'steps=5')
    expect(answered.out).toBe(`the budget of task ${taskId} goes on; 1 parked task resumed\n`)
    expect((await agent('result', taskId, '--wait')).out).toBe('spent\n')
    expect((await agent('budgets')).out).toBe('no budget asks for more\n')
    expect(await agent('budgets', 'continue', taskId, '--raise', 'steps')).toMatchObject({ code: 2 })
    expect(await agent('budgets', 'stop', taskId)).toMatchObject({ code: 1 })
  })

  test('schedules are put, paused, resumed, triggered and removed', async () => {
    expect(await agent('schedules', 'put', 'pulse', 'greet', '{"name":"Ada"}')).toMatchObject({ code: 2 })
    const put = await agent(
      'schedules',
      'put',
      'pulse',
      'greet',
      '{"name":"Ada"}',
      '--every',
      '5m',
      '--tasks',
      tasks,
    )
    expect(put.out).toMatch(/pulse +every 5 min +greet +in /)
    expect((await agent('schedules', 'pause', 'pulse')).out).toContain('paused')
    expect(await json('schedules')).toMatchObject([{ name: 'pulse', paused: true }])
    expect((await agent('schedules', 'resume', 'pulse')).out).toMatch(/ in [45] min/)
    const { out } = await agent('schedules', 'trigger', 'pulse')
    expect((await agent('result', out.trim(), '--wait')).out).toBe('Hello Ada\n')
    expect((await agent('schedules', 'remove', 'pulse')).out).toBe('schedule pulse removed\n')
    expect(await agent('schedules', 'remove', 'pulse')).toMatchObject({ code: 66 })
    expect(await agent('schedules', 'put', 'x', 'greet', '{}', '--cron', 'never')).toMatchObject({ code: 2 })
    expect((await agent('schedules')).out).toBe('there is no schedule\n')
  })

  test('fork runs a task again from a step, with other results for the steps before it', async () => {
    const { taskId } = await runtime.submit(greet, { name: 'Ada' })
    await runtime.result(taskId)
    const { out } = await agent('fork', taskId, '--edit', 'compose="Hi Ada"')
    expect((await agent('result', out.trim(), '--wait')).out).toBe('Hi Ada\n')
    expect(await agent('fork', taskId, '--from', 'nope')).toMatchObject({ code: 2 })
    expect(await agent('fork', taskId, '--edit', 'compose')).toMatchObject({ code: 2 })
  })

  test('replay and deploy-check say whether code fits the tasks', async () => {
    const taskId = await parked('wait', null)
    expect(await agent('replay', taskId, '--tasks', tasks)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^agreed: wait, /) as string,
    })
    const changed = join(import.meta.dirname, 'project/changed-tasks.ts')
    expect(await agent('replay', taskId, '--tasks', changed)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^diverged: wait, /) as string,
    })
    expect(await agent('deploy-check', '--tasks', tasks)).toMatchObject({
      code: 0,
      out: expect.stringContaining(' fits the 1 unfinished task of the store') as string,
    })
    const refused = await agent('deploy-check', '--tasks', changed)
    expect(refused).toMatchObject({
      code: 1,
      out: expect.stringContaining('1 task would take another path') as string,
    })
    await agent('cancel', taskId)
  })
})
