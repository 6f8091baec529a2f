import { isList, isRecord, RuntimeError, show } from '@ku0/agent-runtime-core'
import type { TaskDefinition } from '../api/task-definition.ts'
import { isDefinition } from './task-definition.ts'

/** The task types that a module exports: definitions by themselves, in lists, or of agents. Throws if there is none. */
export function definitionsIn(
  module: Readonly<Record<string, unknown>>,
  url: string,
): readonly TaskDefinition[] {
  const found = new Set(Object.values(module).flatMap(within))
  if (found.size > 0) return [...found]
  throw new RuntimeError('invalid_config', `${url} exports no task: export what defineTask returns`)
}

/** The task type of a name. Throws if the module does not export it. */
export function definitionIn(
  module: Readonly<Record<string, unknown>>,
  url: string,
  type: string,
): TaskDefinition {
  const found = definitionsIn(module, url)
  const definition = found.find((it) => it.type === type)
  if (definition !== undefined) return definition
  const others = found.map((it) => show(it.type)).join(', ')
  throw new RuntimeError(
    'invalid_config',
    `${url} does not export the task '${type}', whose module it is: export what defineTask returned for it. It exports ${others}`,
  )
}

function within(exported: unknown): readonly TaskDefinition[] {
  if (isList(exported)) return exported.flatMap(within)
  if (!isRecord(exported)) return []
  if (isDefinition(exported)) return [exported]
  return isDefinition(exported['task']) ? [exported['task']] : []
}
