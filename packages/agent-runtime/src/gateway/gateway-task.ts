import { isRecord } from '@ku0/agent-runtime-core'
import type { Checked, Schema } from '../api/schema.ts'
import type { TaskContext } from '../api/task-context.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { TaskDefinitionOptions } from '../api/task-type.ts'
import { defineTask } from '../terms/task-definition.ts'
import type { Gateway } from './gateway.ts'
import { runAgent } from './run-agent.ts'

/** The input of a task type of {@link gatewayTask}. */
export interface GatewayTaskInput {
  readonly prompt: string
  readonly workspaceDir: string
  /** 50 by default. */
  readonly maxIterations?: number | undefined
}

/** Options of {@link gatewayTask}: its gateway, and those of every task type but the schemas. */
export type GatewayTaskOptions<Type extends string> = Omit<
  TaskDefinitionOptions<Type, Schema<GatewayTaskInput>, undefined>,
  'input' | 'output' | 'signals' | 'approvals' | 'emits'
> & { readonly gateway: Gateway }

/**
 * A task type whose handler does nothing but hand its run to an agent; its result is the agent's output. For work before and after it write a
 * handler with {@link runAgent}. Throws {@link ConfigError} as `defineTask` does.
 */
export function gatewayTask<const Type extends string>({
  gateway,
  ...options
}: GatewayTaskOptions<Type>): TaskDefinition<Type, GatewayTaskInput> {
  const handler = async (ctx: TaskContext, input: GatewayTaskInput): Promise<unknown> => {
    const { output = null } = await runAgent(ctx, gateway, input)
    return output
  }
  const definition = { ...options, input: inputSchema }
  const define: (it: never, run: never) => unknown = defineTask
  return define(definition as never, handler as never) as TaskDefinition<Type, GatewayTaskInput>
}

const inputSchema: Schema<GatewayTaskInput> = {
  '~standard': {
    version: 1,
    vendor: '@ku0/agent-runtime',
    validate: (value) => validated(value),
  },
}

function validated(value: unknown): Checked<GatewayTaskInput> {
  if (!isRecord(value)) return { issues: [{ message: 'an object with prompt and workspaceDir' }] }
  const { prompt, workspaceDir, maxIterations } = value
  const issues = [
    ...(typeof prompt === 'string' ? [] : [{ message: 'a text', path: ['prompt'] }]),
    ...(typeof workspaceDir === 'string' ? [] : [{ message: 'a text', path: ['workspaceDir'] }]),
    ...(maxIterations === undefined || (Number.isInteger(maxIterations) && Number(maxIterations) >= 1)
      ? []
      : [{ message: 'a whole number, 1 or more', path: ['maxIterations'] }]),
    ...Object.keys(value)
      .filter((name) => !['prompt', 'workspaceDir', 'maxIterations'].includes(name))
      .map((name) => ({ message: 'no such field', path: [name] })),
  ]
  return issues.length > 0 ? { issues } : { value: value as unknown as GatewayTaskInput }
}
