import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient, createRuntime, defineTask } from '../src/index.ts'
import { createTestRuntime } from '../src/testing/index.ts'

const input = z.unknown()
const plain = defineTask({ type: 'plain', input }, () => null)

/** The message of what a call throws. */
async function said(run: () => unknown): Promise<string> {
  try {
    await run()
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing'
}

describe('a name that another library has is refused with what to write here', () => {
  test.each<readonly [object, string]>([
    [
      { retries: 3 },
      'retries: no such option, write retry: { attempts: 4 }, which counts the first try, too; given 3',
    ],
    [{ maxRetries: 'x' }, 'write retry: { attempts: 4 }'],
    [{ maxAttempts: 3 }, 'write retry: { attempts: 3 }; given 3'],
    [{ attempts: 3 }, 'write retry: { attempts: 3 }'],
    [{ backoff: {} }, 'write retry: { attempts, backoff: { initialMs, factor, maxMs, jitter } }'],
    [{ concurrency: 5 }, 'workers: { capacity }'],
    [{ timeout: 5 }, 'did you mean timeoutMs?'],
    [{ startToCloseTimeout: '5m' }, 'write timeoutMs, in ms'],
    [{ priority: 1 }, "write lane: 'interactive', 'normal' or 'batch'"],
    [{ cron: '* * * * *' }, 'write runtime.schedules.put('],
    [{ repeat: { every: 5 } }, 'write runtime.schedules.put('],
    [{ name: 'x' }, 'name: no such option, write type'],
    [{ schema: input }, 'write input'],
    [{ handler: () => null }, 'the handler is the second argument'],
    [{ delay: 5 }, "write delayMs among submit's options"],
    [{ workflowId: 'x' }, "write idempotencyKey among submit's options"],
    [
      { retry: { attempts: 2, delay: 500 } },
      'retry.delay: no such option, write backoff: { initialMs: 500 }',
    ],
    [
      { retry: { retries: 2 } },
      'retry.retries: no such option, write attempts: 3, which counts the first try, too',
    ],
    [{ retry: { maximumAttempts: 2 } }, 'write attempts: 2'],
    [{ retry: { attempts: 2, backoff: { type: 'exponential' } } }, 'write factor: 1 for equal waits'],
    [
      { retry: { attempts: 2, backoff: { delay: 500 } } },
      'backoff.delay: no such option, write initialMs: 500',
    ],
  ])('defineTask: %j', async (options, advice) => {
    expect(await said(() => defineTask({ type: 'a', input, ...options }, () => null))).toContain(advice)
  })

  test('submit, spawn and step', async () => {
    const parent = defineTask(
      { type: 'parent', input: z.record(z.string(), z.unknown()) },
      async (ctx, options) => {
        await ctx.spawn('it', plain, null, options)
      },
    )
    const steps = defineTask({ type: 'steps', input: z.record(z.string(), z.unknown()) }, (ctx, options) =>
      ctx.step('it', options, () => null),
    )
    await using it = await createTestRuntime({ tasks: [plain, parent, steps] })
    const submit = (options: object) => said(() => it.runtime.submit(plain, null, options))
    expect(await submit({ jobId: 'x' })).toContain(
      'submit option jobId: no such option, write idempotencyKey, ',
    )
    expect(await submit({ delay: 5 })).toContain('write delayMs: 5, in ms')
    expect(await submit({ attempts: 5 })).toContain("write retry: { attempts: 5 }, which is defineTask's")
    expect(await submit({ retry: { attempts: 5 } })).toContain('write it in defineTask')
    expect(await submit({ removeOnComplete: true })).toContain('leave it out: ended tasks')
    expect(await submit({ priority: 1 })).toContain('write lane: ')
    expect(await submit({ timeout: 1 })).toContain('did you mean timeoutMs?')
    const fails = async (task: typeof parent, options: Record<string, unknown>) => {
      const receipt = await it.runtime.submit(task, options)
      return said(() => it.result(receipt))
    }
    expect(await fails(parent, { parentClosePolicy: 'ABANDON' })).toContain(
      "write onParentEnd: 'cancel' or 'abandon'",
    )
    expect(await fails(parent, { workflowId: 'x' })).toContain('write idempotencyKey')
    expect(await fails(steps as never, { retries: 2 })).toContain(
      "step 'it' option retries: no such option, write retry: { attempts: 3 }",
    )
    expect(await fails(steps as never, { startToCloseTimeout: 2 })).toContain('write timeoutMs, in ms')
    expect(await fails(steps as never, { retry: { attempts: 1, maxAttempts: 2 } })).toContain(
      'write attempts: 2',
    )
  })

  test.each<readonly [object, string]>([
    [{ concurrency: 20 }, 'write workers: { capacity: 20 }'],
    [
      { config: { capacity: 20 } },
      'no such setting, write workers: { capacity: 20 } beside config; given 20',
    ],
    [{ config: { concurrency: 'many' } }, 'write workers: { capacity: 4 } beside config'],
    [{ url: 'x.db' }, "write store: 'sqlite:runtime.db'"],
    [{ connection: {} }, "write store: 'sqlite:runtime.db'"],
    [{ activities: {} }, 'write tasks: [ … ]'],
    [{ retries: 2 }, 'write retry in defineTask'],
    [{ leaseTtlMs: 2 }, 'leaseTtlMs: no such option, write config: { leaseTtlMs }; given 2'],
    [{ quotaConfig: {} }, 'write config: { quotaConfig }'],
    [{ workers: { concurrency: 3 } }, 'workers.concurrency: no such option, write capacity: 3'],
    [{ logLevel: 'debug' }, 'write logger: '],
  ])('createRuntime: %j', async (options, advice) => {
    expect(await said(() => createRuntime({ store: 'sqlite::memory:', tasks: [], ...options }))).toContain(
      advice,
    )
  })

  test('createClient and schedules', async () => {
    expect(await said(() => createClient({ store: 'sqlite::memory:', url: 'x' } as never))).toContain(
      'write store: ',
    )
    await using it = await createTestRuntime({ tasks: [plain] })
    const put = (timing: object, options = {}) =>
      said(() => it.runtime.schedules.put('a', timing as never, plain, null, options))
    expect(await put({ pattern: '* * * * *' })).toContain(
      "timing.pattern: no such option, write cron: '0 9 * * *'",
    )
    expect(await put({ every: 5 })).toContain('write everyMs: 60_000')
    expect(await put({ cron: '* * * * *' }, { overlapPolicy: 'x' })).toContain('write overlap')
  })
})
