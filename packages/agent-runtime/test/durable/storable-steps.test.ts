import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

async function ran(body: (ctx: TaskContext) => unknown) {
  const task = defineTask({ type: 'a', input: z.null() }, (ctx) => body(ctx))
  const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
  const receipt = await runtime.submit(task, null)
  for (let n = 0; n < 3; n += 1) await elapse(1_000)
  return runtime.result(receipt)
}

/** Its fields are getters of its class, as those of the AI SDK are. */
class Generated {
  readonly steps: readonly Step[]
  readonly request = { body: 'the prompt' }
  constructor(steps: readonly Step[]) {
    this.steps = steps
  }
  get text() {
    return this.steps.map(({ text }) => text).join(' ')
  }
  get finishReason() {
    return 'stop'
  }
  get usage() {
    return { inputTokens: 3, outputTokens: 4, at: new Date(5) }
  }
  toString() {
    return 'generated'
  }
}
class Step {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  get text() {
    return this.#text
  }
}

describe('7.4 the result of a step that was paid is not lost', () => {
  test('toStorable makes what is stored, once, and every pass gets that', async () => {
    const made: string[] = []
    const seen: string[] = []
    const result = await ran(async (ctx) => {
      const toStorable = (url: URL) => {
        made.push(url.href)
        return url.host
      }
      const host = await ctx.step('sync', { toStorable }, () => new URL('http://one.example/'))
      const later = await ctx.step('later', { toStorable: async (url: URL) => url.host }, async () => {
        return new URL('http://two.example/')
      })
      seen.push(`${host} ${later}`)
      await ctx.sleep('a while', 1_000)
      return [host, later]
    })
    expect(result).toEqual(['one.example', 'two.example'])
    expect(seen).toEqual(['one.example two.example', 'one.example two.example'])
    expect(made).toEqual(['http://one.example/'])
  })

  test('an error of toStorable fails the try', async () => {
    let tried = 0
    const toStorable = (n: number) => {
      if (n === 1) throw new Error('not this one')
      return `stored ${n}`
    }
    const retry = { attempts: 2, backoff: { initialMs: 1_000, jitter: 0 } }
    expect(await ran((ctx) => ctx.step('a', { toStorable, retry }, () => (tried += 1)))).toBe('stored 2')
  })

  test('a result of a model’s SDK whose fields are getters is stored as plain data, without the prompt', async () => {
    const answer = new Generated([new Step('Read'), new Step('this.')])
    expect(await ran((ctx) => ctx.step('ask', (): unknown => answer))).toEqual({
      steps: [{ text: 'Read' }, { text: 'this.' }],
      text: 'Read this.',
      finishReason: 'stop',
      usage: { inputTokens: 3, outputTokens: 4, at: new Date(5) },
    })
  })

  test('another instance of a class is refused, and the error says what to do', async () => {
    const refused = ran((ctx) => ctx.step('read', (): unknown => new Step('a')))
    await expect(refused).rejects.toThrow(
      "the result of step 'read' cannot be stored: $ is an instance of Step: give plain data (the toStorable of the step can turn it into data)",
    )
  })

  test('toStorable is a function', async () => {
    const refused = ran((ctx) => ctx.step('read', { toStorable: 'text' as never }, () => 1))
    await expect(refused).rejects.toThrow("step 'read' option toStorable: a function")
  })
})
