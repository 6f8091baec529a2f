import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type AgentState,
  defineAgent,
  defineTask,
  type RuntimeEvent,
  toAgentView,
  type TaskStatus,
} from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { gate, turns, virtualRuntime } from '../virtual-runtime.ts'

const profile = {
  name: 'reviewer',
  capabilities: ['read_code', 'write_comments'],
  domain: ['code_review'],
  input: z.object({ repo: z.string() }),
  output: z.object({ comments: z.number() }),
} as const

describe('an agent', () => {
  test('12.0 has a profile that nothing changes, and a task that runs', async () => {
    const capabilities = ['read_code']
    const reviewer = defineAgent({ ...profile, capabilities }, (_, { repo }) => ({ comments: repo.length }))
    capabilities.push('more')
    expect(reviewer.profile).toEqual({
      ...profile,
      capabilities: ['read_code'],
      cost: 1,
      mode: 'autonomous_escalation',
    })
    for (const frozen of [reviewer, reviewer.profile, reviewer.profile.capabilities, reviewer.profile.domain])
      expect(Object.isFrozen(frozen)).toBe(true)
    expect(reviewer.task).toMatchObject({ type: 'reviewer', lane: 'normal' })
    await using world = await createTestRuntime({ tasks: [reviewer.task] })
    const result = await world.run(reviewer.task, { repo: 'here' })
    expectTypeOf(result).toEqualTypeOf<{ comments: number }>()
    expect(result).toEqual({ comments: 4 })
  })

  test('takes a mode, and what its task takes', () => {
    const { profile: given, task } = defineAgent(
      { ...profile, mode: 'supervised', lane: 'interactive', timeoutMs: 5, retry: { attempts: 3 } },
      () => ({ comments: 0 }),
    )
    expect(given.mode).toBe('supervised')
    expect(task).toMatchObject({ lane: 'interactive', timeoutMs: 5, retry: { attempts: 3 } })
  })

  const define = (more: object) => () => defineAgent({ ...profile, ...more }, () => ({ comments: 0 }))
  test.each([
    [{ capabilities: ['a', 'a'] }, "agent 'reviewer': capabilities: a list of different names"],
    [{ domain: ['a', 'a'] }, "agent 'reviewer': domain: a list of different names"],
    [{ domain: undefined }, "agent 'reviewer': domain: a list of different names"],
    [{ name: '' }, 'agent: name: a name of 1 to 255 characters'],
    [{ mode: 'none' }, "agent 'reviewer': mode: autonomous_escalation | spot_check | supervised"],
    [{ output: undefined }, "agent 'reviewer': output: a schema; not given"],
    [{ input: 7 }, "task 'reviewer': input: a schema"],
    [{ type: 'other' }, "agent 'reviewer': type: no such option: an agent's name is its type"],
    [{ lanes: 'batch' }, "task 'reviewer': lanes: no such option, did you mean lane?"],
  ])('is refused with %j', (more, message) => {
    expect(define(more)).toThrow(message)
  })

  test('a second of the same name is refused', async () => {
    const tasks = [define({})().task, define({ capabilities: [] })().task]
    await expect(createTestRuntime({ tasks })).rejects.toThrow('tasks[1].type: a type that no other task has')
  })
})

describe('the life of an agent', () => {
  test('12.0 is seen in the paper’s states, from its submission to its end', async () => {
    const doors = [gate(), gate(), gate()]
    const task = defineTask({ type: 'agent', input: z.null() }, async (ctx) => {
      await ctx.step('first', () => doors[0]?.promise)
      await ctx.checkpoint({ at: 1 })
      await ctx.step('second', () => doors[1]?.promise)
      await doors[2]?.promise
      await ctx.sleep('nap', 60_000)
      await ctx.waitForSignal('go')
      return 'done'
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const seen: AgentState[] = []
    const look = async () => {
      await turns()
      const view = toAgentView((await runtime.status('one')) as TaskStatus)
      if (seen.at(-1) !== view.state) seen.push(view.state)
      return view
    }
    await runtime.submit(task, null, { taskId: 'one', delayMs: 1_000 })
    expect(await look()).toEqual({
      taskId: 'one',
      agent: 'agent',
      state: 'pending',
      currentJob: null,
      credits: 0,
      metrics: { stepsCompleted: 0 },
      oversight: 'autonomous_escalation',
      rejections: 0,
      maxRetries: 3,
      stepsCompleted: 0,
      retries: 0,
    })
    await elapse(1_000)
    expect((await look()).state).toBe('running')
    doors[0]?.resolve()
    expect((await look()).state).toBe('checkpointed')
    // A word from outside is no step.
    await runtime.signal('one', 'other')
    expect((await look()).state).toBe('checkpointed')
    doors[1]?.resolve()
    expect((await look()).state).toBe('running')
    doors[2]?.resolve()
    await elapse(100)
    expect(await look()).toMatchObject({ state: 'checkpointed', stepsCompleted: 2 })
    await elapse(60_000)
    expect((await look()).state).toBe('checkpointed')
    await runtime.signal('one', 'go')
    expect(await look()).toMatchObject({ state: 'completed', retries: 0 })
    expect(seen).toEqual(['pending', 'running', 'checkpointed', 'running', 'checkpointed', 'completed'])
  })

  test('12.0 a refused task has failed, a canceled one is cancelled', async () => {
    const task = defineTask({ type: 'agent', input: z.null() }, () => {
      throw new Error('no')
    })
    await using world = await createTestRuntime({ tasks: [task] })
    const { runtime } = world
    const state = async (taskId: string) => toAgentView((await runtime.status(taskId)) as TaskStatus).state
    const rejected = await runtime.submit('nobody', null)
    expect(await state(rejected.taskId)).toBe('failed')
    const later = await runtime.submit(task, null, { delayMs: 1_000 })
    await runtime.cancel(later)
    expect(await state(later.taskId)).toBe('cancelled')
    const failing = await runtime.submit(task, null)
    await world.until(failing, 'failed')
    expect(await state(failing.taskId)).toBe('failed')
  })

  test('12.0 has each field of the paper’s record', async () => {
    const agent = defineAgent(
      {
        name: 'writer',
        capabilities: ['write'],
        domain: ['text'],
        input: z.object({ about: z.string() }),
        output: z.string(),
        mode: 'supervised',
      },
      async (ctx, { about }) => {
        const lost = ctx.step('library', () => Promise.reject(new Error('closed')))
        await lost.catch(() => undefined)
        const notes = await ctx.step('notes', () => `notes about ${about}`)
        await ctx.checkpoint({ notes })
        await ctx.requestApproval('draft', `a draft of ${notes}`, { maxRetries: 2 })
        await ctx.step('print', () => 'printed')
        return 'done'
      },
    )
    await using world = await createTestRuntime({ tasks: [agent.task] })
    const { runtime } = world
    const heard: RuntimeEvent[] = []
    runtime.on('*', (event) => heard.push(event))
    const receipt = await runtime.submit(agent.task, { about: 'bees' }, { taskId: 'one', cost: 5 })
    const view = async (events: readonly RuntimeEvent[]) =>
      toAgentView((await runtime.status(receipt)) as TaskStatus, {
        profile: agent.profile,
        events,
        steps: (await runtime.steps(receipt)).steps,
        checkpoint: await runtime.checkpoint(receipt),
      })
    const decide = async (verdict: 'approve' | 'reject') => {
      await world.until(receipt, 'waiting')
      const {
        approvals: [request],
      } = await runtime.approvals.list({ task: receipt })
      if (verdict === 'approve') await runtime.approvals.approve(String(request?.approvalId))
      else await runtime.approvals.reject(String(request?.approvalId), { feedback: 'shorter' })
    }
    await decide('reject')
    await world.until(receipt, 'waiting')
    const struct = async () => {
      const it = await view((await runtime.history(receipt)).events)
      return {
        id: it.taskId,
        profile: it.profile,
        started_at: it.startedAt !== undefined,
        current_job: it.currentJob,
        checkpoint_data: it.checkpointData,
        state: it.state,
        credits: it.credits,
        oversight: it.oversight,
        memo_store: it.memoStore,
        retry_count: it.rejections,
        max_retries: it.maxRetries,
      }
    }
    expect(await struct()).toEqual({
      id: 'one',
      profile: agent.profile,
      started_at: true,
      current_job: { about: 'bees' },
      checkpoint_data: 'a draft of notes about bees',
      state: 'waiting_approval',
      credits: 5,
      oversight: 'supervised',
      memo_store: { notes: 'notes about bees' },
      retry_count: 1,
      max_retries: 2,
    })
    await decide('approve')
    await world.until(receipt, 'completed')
    expect(await struct()).toMatchObject({ state: 'completed', retry_count: 0 })
    // What was recorded before the rejection was done again after it.
    const { metrics } = await view(heard)
    expect(metrics).toMatchObject({ stepsCompleted: 3, errors: 2 })
    expect(metrics.stepsCached).toBeGreaterThanOrEqual(1)
    expect(metrics.totalExecutionMs).toBeGreaterThanOrEqual(0)
  })

  test('12.0 is refused with sources of another kind', async () => {
    const task = defineTask({ type: 'agent', input: z.null() }, () => null)
    await using world = await createTestRuntime({ tasks: [task] })
    const receipt = await world.runtime.submit(task, null)
    const status = (await world.runtime.status(receipt)) as TaskStatus
    const view = toAgentView as (...given: unknown[]) => unknown
    expect(() => view(status, { event: [] })).toThrow('did you mean events')
    expect(() => view(status, { events: {} })).toThrow('the events of what runtime.history returns')
  })
})
