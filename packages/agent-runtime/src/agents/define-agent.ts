import {
  ConfigError,
  type ConfigProblem,
  defaultOversightMode,
  isAmount,
  isName,
  isRecord,
  type OversightMode,
  oversightModes,
  problemsIn,
  type Rule,
} from '@ku0/agent-runtime-core'
import type { Declarations, Exchange, ExchangeOf, Schemas } from '../api/exchange.ts'
import type { InputOf, OutputOf, Schema } from '../api/schema.ts'
import type { Domain, NamedTask } from '../api/recovery.ts'
import type { Storable } from '../api/storable.ts'
import type { TaskContext } from '../api/task-context.ts'
import { isDomain } from '../terms/recovery-policy.ts'
import { defineTask } from '../terms/task-definition.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { TaskDefinitionOptions } from '../api/task-type.ts'

/** The description of an agent, besides its handler; the rest is its task's. Source: agent-scheduler-paper 3.1. */
export interface AgentOptions<
  Name extends string,
  Input extends Schema,
  Output extends Schema,
  X extends Exchange = Exchange,
  To = NamedTask,
> extends Omit<
  TaskDefinitionOptions<Name, Input, Output, X, To>,
  'type' | 'input' | 'output' | 'oversight' | 'domain'
> {
  /** Its name, and the type of its task: 1 to 255 characters. */
  readonly name: Name
  /** Its capabilities, each once. */
  readonly capabilities: readonly string[]
  /** The kinds of work that it is for, each once: names, or what `defineDomain` returns, whose table of recovery counts for its task. */
  readonly domain: readonly (string | Domain)[]
  readonly input: Input
  readonly output: Output
  /** The cost of one task of it in credits, 0 to 1e9: 1 by default. Hand it to `submit` as the `cost`. */
  readonly cost?: number | undefined
  /** How much a person looks at what it does: the mode of its requests for approval. `autonomous_escalation` by default. */
  readonly mode?: OversightMode | undefined
}

/** The facts that are known of an agent before it runs. Frozen. Source: agent-scheduler-paper 3.1; `docs/semantics.md 12.0`. */
export interface AgentProfile<
  Name extends string = string,
  Input extends Schema = Schema,
  Output extends Schema = Schema,
> {
  readonly name: Name
  readonly capabilities: readonly string[]
  readonly domain: readonly string[]
  readonly input: Input
  readonly output: Output
  /** The cost of one task of it, in credits. */
  readonly cost: number
  readonly mode: OversightMode
}

/** An agent: its profile, and the task type that runs it. */
export interface AgentDefinition<
  Name extends string = string,
  Input extends Schema = Schema,
  Output extends Schema = Schema,
  X extends Exchange = Exchange,
> {
  readonly profile: AgentProfile<Name, Input, Output>
  /** For `createRuntime({ tasks: [agent.task] })`, which refuses a second agent of the same name, and for `submit`. */
  readonly task: TaskDefinition<Name, InputOf<Input>, OutputOf<Output>, X>
}

/**
 * Defines an agent: a profile that nothing changes, and its task type. Throws {@link ConfigError} naming every field that is wrong, a
 * capability or domain that stands twice among them.
 *
 *     const reviewer = defineAgent(
 *       { name: 'reviewer', capabilities: ['read_code'], domain: ['review'], input, output, mode: 'spot_check' },
 *       async (ctx, { repo }) => ctx.step('review', () => review(repo)),
 *     )
 */
export function defineAgent<
  const Name extends string,
  Input extends Schema,
  Output extends Schema,
  const Signals extends Schemas | undefined = undefined,
  const Approvals extends Schemas | undefined = undefined,
  Emits extends Schema | undefined = undefined,
  To extends NamedTask = NamedTask,
>(
  options: AgentOptions<Name, Input, Output, Declarations<Signals, Approvals, Emits>, To>,
  handler: ((
    ctx: TaskContext<Declarations<Signals, Approvals, Emits>>,
    input: OutputOf<Input>,
  ) => NoInfer<InputOf<Output>> | Promise<NoInfer<InputOf<Output>>>) &
    Storable<OutputOf<Output>>,
): AgentDefinition<Name, Input, Output, ExchangeOf<Signals, Approvals, Emits>> {
  const problems = problemsOf(options)
  if (problems.length > 0) throw new ConfigError(problems)
  const { name, capabilities, domain, cost = 1, mode = defaultOversightMode, ...rest } = options
  // The handler's own type says what its task's would: the output schema is always there.
  const domains = domain.filter((it) => typeof it !== 'string')
  const task = defineTask(
    { ...rest, ...(domains.length === 0 ? {} : { domain: domains }), type: name, oversight: mode },
    handler as unknown as () => never,
  )
  const { input, output } = options
  const profile = Object.freeze({
    name,
    capabilities: Object.freeze([...capabilities]),
    domain: Object.freeze(domain.map(nameOf)),
    input,
    output,
    cost,
    mode,
  })
  return Object.freeze({ profile, task })
}

/** What is wrong with the profile; the rest is for {@link defineTask} to say. */
function problemsOf(given: unknown): ConfigProblem[] {
  if (!isRecord(given)) {
    const allowed = 'an object with name, capabilities, domain, input, output, mode'
    return [{ path: 'agent', allowed, given }]
  }
  const path = isName(given['name']) ? `agent '${given['name']}': ` : 'agent: '
  const own = Object.fromEntries(Object.keys(rules).map((name) => [name, given[name]]))
  const type =
    given['type'] === undefined
      ? []
      : [
          {
            path: `${path}type`,
            allowed: "no such option: an agent's name is its type",
            given: given['type'],
          },
        ]
  return [
    ...problemsIn(own, rules, { path, required: ['name', 'capabilities', 'domain', 'output'] }),
    ...type,
  ]
}

function nameOf(domain: string | Domain): string {
  return typeof domain === 'string' ? domain : domain.name
}

const names: Rule = [
  'a list of different names, each of 1 to 255 characters',
  (value) => Array.isArray(value) && value.every(isName) && new Set(value).size === value.length,
]

const rules: Readonly<Record<string, Rule>> = {
  name: ['a name of 1 to 255 characters, no lone surrogates', isName],
  capabilities: names,
  domain: [
    'a list of different names, each of 1 to 255 characters, or of what defineDomain returns',
    (value) => Array.isArray(value) && names[1](value.map((it) => (isDomain(it) ? it.name : it))),
  ],
  output: ['a schema', (value) => value !== null],
  cost: ['a number from 0 to 1e9', (value) => isAmount(value) && value <= 1e9],
  mode: [oversightModes.join(' | '), (value) => (oversightModes as readonly unknown[]).includes(value)],
}
