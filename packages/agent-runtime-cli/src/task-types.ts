import { existsSync, statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { isList, isRecord, RuntimeError } from '@ku0/agent-runtime-core'
import type { Agreement, TaskDefinition, TaskType } from '@ku0/agent-runtime'
import { importAnew } from './import-anew.ts'
import type { Settings } from './settings/settings.ts'
import { whyNotLoaded } from './why-not-loaded.ts'

/** The task types that a module exports, one by one or in lists: definitions, contracts, and the tasks of agents. */
export interface TaskTypes {
  readonly file: string
  /** All of them, for submissions. */
  readonly types: readonly TaskType[]
  /** The definitions with a handler, for workers. */
  readonly definitions: readonly TaskDefinition[]
  /** The agreements that it exports, one by one or in lists. */
  readonly agreements: readonly Agreement[]
}

/** Loads the module of task types that the settings name. Undefined if they name none. `anew` loads it as it is now, also if it was loaded before. */
export async function loadTaskTypes(
  { tasks: file }: Settings,
  { anew = false }: { readonly anew?: boolean } = {},
): Promise<TaskTypes | undefined> {
  if (file === undefined) return undefined
  if (!existsSync(file) || !statSync(file).isFile())
    throw new RuntimeError(
      'not_found',
      `there is no module of task types at ${file}; give it with --tasks, or as tasks in agent-runtime.config.ts`,
    )
  let module: Readonly<Record<string, unknown>>
  try {
    const { href } = pathToFileURL(file)
    module = (await (anew ? importAnew(href) : import(href))) as typeof module
  } catch (error) {
    throw new RuntimeError('invalid_config', `${file} could not be loaded: ${whyNotLoaded(error)}`, {
      cause: error,
    })
  }
  const types = new Set(Object.values(module).flatMap(typesIn))
  if (types.size === 0)
    throw new RuntimeError(
      'invalid_config',
      `${file} exports no task type: export what defineTask or defineContract returns`,
    )
  const all = [...types]
  const agreements = [...new Set(Object.values(module).flatMap(agreementsIn))]
  const { href } = pathToFileURL(file)
  return {
    file,
    types: all,
    definitions: all.filter(hasHandler).map((task) => ofModule(task, href)),
    agreements,
  }
}

/** An isolated task type that names no module is found where the worker found it. */
function ofModule(task: TaskDefinition, module: string): TaskDefinition {
  return task.isolation === 'inline' || task.module !== undefined ? task : { ...task, module }
}

/** The same, where a command cannot do without. */
export async function requireTaskTypes(
  settings: Settings,
  what: string,
  how?: { readonly anew?: boolean },
): Promise<TaskTypes> {
  const types = await loadTaskTypes(settings, how)
  if (types !== undefined) return types
  throw new RuntimeError(
    'invalid_argument',
    `${what} needs the module of your task types: give it with --tasks FILE, or as tasks in agent-runtime.config.ts`,
  )
}

/** The task types that check a submission. A store does not hold agreements: under one, the module is needed. */
export async function typesFor(
  settings: Settings,
  agreement: string | undefined,
): Promise<TaskTypes | undefined> {
  return agreement === undefined || settings.server !== undefined
    ? loadTaskTypes(settings)
    : requireTaskTypes(settings, '--agreement')
}

function typesIn(exported: unknown): readonly TaskType[] {
  if (isList(exported)) return exported.flatMap(typesIn)
  if (!isRecord(exported)) return []
  if (isType(exported)) return [exported]
  const { task } = exported
  return isRecord(task) && isType(task) ? [task] : []
}

function agreementsIn(exported: unknown): readonly Agreement[] {
  if (isList(exported)) return exported.flatMap(agreementsIn)
  return isRecord(exported) && exported['kind'] === 'agreement' && typeof exported['client'] === 'string'
    ? [exported as unknown as Agreement]
    : []
}

function isType(
  value: Readonly<Record<string, unknown>>,
): value is Readonly<Record<string, unknown>> & TaskType {
  return typeof value['type'] === 'string' && isSchema(value['input'])
}

function isSchema(value: unknown): boolean {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') && '~standard' in value
  )
}

function hasHandler(type: TaskType): type is TaskDefinition {
  return 'handler' in type && typeof type.handler === 'function'
}
