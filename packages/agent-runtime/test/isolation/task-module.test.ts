import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ConfigError } from '@ku0/agent-runtime-core'
import { createRuntime, defineAgent, defineCodec, defineTask } from '../../src/index.ts'
import { broughtBy, broughtIn } from '../../src/isolation/brought.ts'
import { definitionIn } from '../../src/terms/task-module.ts'

const url = 'file:///tasks.js'
const one = defineTask({ type: 'one', input: z.any() }, () => 1)
const two = defineTask({ type: 'two', input: z.any() }, () => 2)
class Money {
  readonly cents = 1
}
const money = defineCodec({ class: Money, name: 'money', encode: () => 1, decode: () => new Money() })

describe('the module of an isolated task (docs/isolation.md)', () => {
  test('exports the task by itself, in a list, or as an agent', () => {
    const agent = defineAgent(
      { name: 'three', capabilities: ['c'], domain: ['d'], input: z.any(), output: z.number() },
      () => 3,
    )
    const module = { one, list: [two], agent }
    expect(definitionIn(module, url, 'one')).toBe(one)
    expect(definitionIn(module, url, 'two')).toBe(two)
    expect(definitionIn(module, url, 'three')).toBe(agent.task)
  })

  test('that does not export it, or nothing, is refused with what to do', () => {
    expect(() => definitionIn({ two }, url, 'one')).toThrow(
      'file:///tasks.js does not export the task \'one\', whose module it is: export what defineTask returned for it. It exports "two"',
    )
    expect(() => definitionIn({}, url, 'one')).toThrow('exports no task')
  })

  test('brings the functions that its worker has', () => {
    const expected = broughtBy({ codecs: [money], rateLimited: () => false })
    expect(expected).toEqual({ codecs: ['money@1'], isSealed: false, hasRateLimited: true })
    const rateLimited = () => true
    expect(broughtIn({ codecs: [money], rateLimited }, url, expected)).toEqual({
      codecs: [money],
      payloadCodec: undefined,
      rateLimited,
    })
    expect(() => broughtIn({ rateLimited }, url, expected)).toThrow(
      "it does not export 'codecs' with money@1, which its worker has",
    )
    expect(() => broughtIn({ codecs: [money] }, url, expected)).toThrow("does not export 'rateLimited'")
    expect(() => broughtIn({ codecs: 'money' }, url, expected)).toThrow('its export codecs is not a list of')
    expect(() => broughtIn({}, url, { codecs: [], isSealed: true, hasRateLimited: false })).toThrow(
      "it does not export 'payloadCodec'",
    )
  })
})

describe('the options of isolation (docs/isolation.md)', () => {
  const problemsOf = (options: object) => {
    try {
      defineTask({ type: 'draw', input: z.any(), ...options }, () => 1)
    } catch (error) {
      return (error as ConfigError).problems.map(({ path }) => path)
    }
    return []
  }

  test('are checked when the task is defined', () => {
    expect(problemsOf({ isolation: 'fiber' })).toEqual(["task 'draw': isolation"])
    expect(problemsOf({ module: './tasks.js' })).toEqual(["task 'draw': module"])
    expect(problemsOf({ isolation: 'thread', memoryMb: 8 })).toEqual(["task 'draw': memoryMb"])
    expect(problemsOf({ memoryMb: 64 })).toEqual(["task 'draw': memoryMb"])
    expect(problemsOf({ isolation: 'process', module: url, memoryMb: 64 })).toEqual([])
    expect(one).toMatchObject({ isolation: 'inline', module: undefined, memoryMb: undefined })
  })

  test('a worker refuses a type without a module', async () => {
    const task = defineTask({ type: 'draw', input: z.any(), isolation: 'thread' }, () => 1)
    await expect(createRuntime({ store: 'sqlite::memory:', tasks: [task], logger: false })).rejects.toThrow(
      "task 'draw': module: import.meta.url of the module that exports the task, because its isolation is 'thread'",
    )
  })
})
