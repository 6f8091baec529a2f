import {
  assertOptions,
  instead,
  invalid,
  isAmount,
  isList,
  isName,
  isRecord,
  type Rules,
  RuntimeError,
  show,
} from '@ku0/agent-runtime-core'
import type { AgentDefinition } from './define-agent.ts'

/** A search among agents. A field that is left out leaves all of them in. */
export interface AgentFilter {
  /** All of these capabilities, or this one. */
  readonly capability?: string | readonly string[] | undefined
  /** A kind of work that it is for. */
  readonly domain?: string | undefined
  /** It costs so much for each task at the most. */
  readonly maxCost?: number | undefined
}

/** Agents by their names. A process has as many registries as it likes. Source: agent-scheduler-paper 7.6; `docs/semantics.md 12.0`. */
export interface AgentRegistry {
  /** Their task types, for `createRuntime({ tasks: registry.tasks })`. */
  readonly tasks: readonly AgentDefinition['task'][]
  /** Adds an agent. Throws `already_exists` if its name is taken, and `invalid_argument` for a value that is no agent. */
  register(agent: AgentDefinition): void
  /** The agent of a name. Throws `not_found` if there is none. */
  get(name: string): AgentDefinition
  has(name: string): boolean
  /** The agents that fit, the least costly first, and those of one cost by their names. */
  find(filter?: AgentFilter): readonly AgentDefinition[]
}

/**
 * A registry of these agents. Throws as its `register` does.
 *
 *     const agents = createAgentRegistry([reviewer, scanner])
 *     const [cheapest] = agents.find({ capability: 'read_code', maxCost: 5 })
 */
export function createAgentRegistry(agents: readonly AgentDefinition[] = []): AgentRegistry {
  if (!isList(agents)) throw invalid(`createAgentRegistry: a list of agents; given ${show(agents)}`)
  const byName = new Map<string, AgentDefinition>()
  const byCapability = new Map<string, Set<AgentDefinition>>()
  const register = (agent: AgentDefinition) => {
    if (!isAgent(agent)) throw invalid(`register: what defineAgent returns; given ${show(agent)}`)
    const { name, capabilities } = agent.profile
    if (byName.has(name))
      throw new RuntimeError(
        'already_exists',
        `there is an agent ${show(name)} already: give this one another name`,
        {
          details: { name },
        },
      )
    byName.set(name, agent)
    for (const capability of capabilities) {
      const others = byCapability.get(capability) ?? new Set()
      byCapability.set(capability, others.add(agent))
    }
  }
  for (const agent of agents) register(agent)
  return {
    get tasks() {
      return Array.from(byName.values(), ({ task }) => task)
    },
    register,
    get(name) {
      const found = byName.get(name)
      if (found !== undefined) return found
      throw new RuntimeError(
        'not_found',
        `there is no agent ${show(name)}${isName(name) ? instead(name, Array.from(byName.keys())) : ''}; register it first`,
        {
          details: { name },
        },
      )
    },
    has: (name) => byName.has(name),
    find(filter) {
      assertOptions('find', filter, filterRules)
      const { capability = [], domain, maxCost = Number.POSITIVE_INFINITY } = filter ?? {}
      const [first, ...others] = typeof capability === 'string' ? [capability] : capability
      const able = first === undefined ? byName.values() : (byCapability.get(first) ?? [])
      return Array.from(able)
        .filter(
          ({ profile }) =>
            others.every((name) => profile.capabilities.includes(name)) &&
            (domain === undefined || profile.domain.includes(domain)) &&
            profile.cost <= maxCost,
        )
        .toSorted(({ profile: a }, { profile: b }) => a.cost - b.cost || (a.name < b.name ? -1 : 1))
    },
  }
}

function isAgent(it: unknown): it is AgentDefinition {
  if (!isRecord(it) || !isRecord(it['profile'])) return false
  const { name, capabilities, domain, cost } = it['profile']
  return isName(name) && isList(capabilities) && isList(domain) && isAmount(cost) && 'task' in it
}

const filterRules: Rules<AgentFilter> = {
  capability: [
    'a name, or a list of names',
    (value) => isName(value) || (isList(value) && Array.from(value).every(isName)),
  ],
  domain: ['a name', isName],
  maxCost: ['a number from 0 on', isAmount],
}
