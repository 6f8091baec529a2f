import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createAgentRegistry, defineAgent } from '../../src/index.ts'

const agent = (name: string, capabilities: readonly string[], domain: readonly string[], cost?: number) =>
  defineAgent({ name, capabilities, domain, cost, input: z.null(), output: z.null() }, () => null)
const ada = agent('ada', ['read', 'write'], ['law'], 5)
const bob = agent('bob', ['read'], ['law', 'art'])
const cyd = agent('cyd', ['read'], ['art'], 5)

describe('a registry of agents', () => {
  test('12.0 finds an agent by its name, and refuses a second one of the name', () => {
    const registry = createAgentRegistry([ada])
    registry.register(bob)
    expect(registry.get('bob')).toBe(bob)
    expect([registry.has('ada'), registry.has('cyd')]).toEqual([true, false])
    expect(registry.tasks).toEqual([ada.task, bob.task])
    expect(() => registry.register(agent('ada', [], []))).toThrow(
      expect.objectContaining({ code: 'already_exists' }),
    )
    expect(() => createAgentRegistry([ada, ada])).toThrow(expect.objectContaining({ code: 'already_exists' }))
    expect(() => registry.get('cyd')).toThrow(expect.objectContaining({ code: 'not_found' }))
    expect(() => registry.get('bod')).toThrow('there is no agent "bod", did you mean bob?')
    expect(registry.get('ada')).toBe(ada)
    expect(() => registry.register({} as never)).toThrow('what defineAgent returns')
  })

  test('12.0 finds those that can do a piece of work, the least costly first', () => {
    const registry = createAgentRegistry([cyd, ada, bob])
    const found = (filter?: Parameters<typeof registry.find>[0]) =>
      registry.find(filter).map(({ profile }) => profile.name)
    expect(found()).toEqual(['bob', 'ada', 'cyd'])
    expect(found({ capability: 'read' })).toEqual(['bob', 'ada', 'cyd'])
    expect(found({ capability: ['read', 'write'] })).toEqual(['ada'])
    expect(found({ capability: 'read', domain: 'law' })).toEqual(['bob', 'ada'])
    expect(found({ maxCost: 4.9 })).toEqual(['bob'])
    expect(found({ capability: 'fly' })).toEqual([])
    expect(() => found({ capability: 5 as never })).toThrow('a name, or a list of names')
  })
})
