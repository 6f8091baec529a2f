import { resolve } from 'node:path'
import { type ExecutionConfigInput, type Lane, lanes, RuntimeError } from '@ku0/agent-runtime-core'
import type { ServerLimits } from '@ku0/agent-runtime-server'
import type { JobTarget } from '../jobs/job-target.ts'
import { shownUrl, storeUrl } from '../store-argument.ts'
import { findConfig, loadConfig } from './config-file.ts'
import type { CliConfig } from './define-config.ts'

/** The settings of one call: flag before environment before file before default. */
export interface Settings {
  /** The URL of the store. */
  readonly store: string
  /** Whether the command may make the store, and migrate one of an older version. */
  readonly makesStore: boolean
  /** The path of the module with the task types. */
  readonly tasks: string | undefined
  readonly durability: 'full' | 'normal'
  readonly config: ExecutionConfigInput | undefined
  readonly worker: {
    readonly mode: 'daemon' | 'job' | 'hybrid'
    readonly types: readonly string[]
    readonly lanes: readonly Lane[]
    readonly capacity: number | undefined
    readonly maxJobs: number
  }
  /** Where the jobs of a hybrid worker run; only a configuration file can say. */
  readonly jobs: JobTarget | undefined
  /** The URL of a server that is asked in place of the store. Undefined if the store was named in a stronger place. */
  readonly server: string | undefined
  /** The token for that server. It is no setting that is shown. */
  readonly token: string | undefined
  readonly serve: {
    /** Undefined: 7007, or a free one if that is taken. */
    readonly port: number | undefined
    readonly host: string
    readonly hosts: readonly string[]
    readonly redact: readonly string[]
    readonly limits: Partial<ServerLimits>
  }
  readonly watchdog: NonNullable<CliConfig['watchdog']>
  /** The configuration file that was read. */
  readonly file: string | undefined
  /** Each setting with its origin, for `agent-runtime config`. */
  readonly values: readonly SettingValue[]
}

interface SettingValue {
  readonly name: string
  readonly value: unknown
  readonly from: 'flag' | 'environment' | 'file' | 'default'
  /** The flag, the variable or the file. */
  readonly where?: string
}

/** A setting that flags, variables and the file can give, as `agent-runtime config` names it. */
interface Known {
  readonly name: string
  readonly variable?: string
  readonly flag?: string
  /** Another name of the flag. */
  readonly also?: string
  readonly fallback?: unknown
  /** How a variable's text is read; as it is by default. */
  readonly read?: (text: string) => unknown
}

/** The words of a variable such as `TASK_TYPE_FILTER=a,b`; `*` anywhere is all of them. */
const wordsOf = (text: string): readonly string[] => {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  return words.includes('*') ? ['*'] : words
}

const known: readonly Known[] = [
  { name: 'store', variable: 'AGENT_RUNTIME_STORE', flag: 'store', fallback: 'sqlite:runtime.db' },
  { name: 'server', variable: 'AGENT_RUNTIME_SERVER', flag: 'server' },
  { name: 'tasks', variable: 'AGENT_RUNTIME_TASKS', flag: 'tasks' },
  { name: 'durability', variable: 'AGENT_RUNTIME_DURABILITY', fallback: 'full' },
  { name: 'worker.mode', variable: 'TASK_WORKER_MODE', flag: 'mode', fallback: 'daemon' },
  { name: 'worker.types', variable: 'TASK_TYPE_FILTER', flag: 'types', fallback: ['*'], read: wordsOf },
  { name: 'worker.lanes', variable: 'TASK_LANE_FILTER', flag: 'lanes', fallback: lanes, read: wordsOf },
  {
    name: 'worker.capacity',
    variable: 'TASK_WORKER_CAPACITY',
    flag: 'capacity',
    also: 'concurrency',
    read: Number,
  },
  { name: 'worker.maxJobs', variable: 'TASK_WORKER_MAX_JOBS', flag: 'maxJobs', fallback: 1, read: Number },
  { name: 'serve.port', variable: 'AGENT_RUNTIME_PORT', flag: 'port', read: Number },
  { name: 'serve.host', variable: 'AGENT_RUNTIME_HOST', flag: 'host', fallback: '127.0.0.1' },
  { name: 'serve.hosts', variable: 'AGENT_RUNTIME_HOSTS', flag: 'hosts', fallback: [], read: wordsOf },
  { name: 'serve.redact', fallback: [] },
  { name: 'serve.limits', fallback: {} },
  { name: 'watchdog.queuedMs', flag: 'queued', fallback: 300_000 },
  { name: 'watchdog.runningMs', flag: 'running', fallback: 900_000 },
  { name: 'watchdog.overdueMs', flag: 'overdue', fallback: 60_000 },
  { name: 'watchdog.everyMs', fallback: 60_000 },
  { name: 'watchdog.types', fallback: {} },
]

/** The variables and flags that give a setting, for the documentation. */
export const settingOrigins: readonly Pick<Known, 'name' | 'variable' | 'flag' | 'fallback'>[] = known

/** The input that a call was given from outside. */
interface Given {
  readonly options: Readonly<Record<string, unknown>>
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly folder: string
  /** See {@link Settings}; by default it may not. */
  readonly makesStore?: boolean | undefined
}

/** Reads all settings. Throws a `ConfigError` that names everything that is wrong, and where it stands. */
export async function readSettings({
  options,
  variables,
  folder,
  makesStore = false,
}: Given): Promise<Settings> {
  const named = options['config'] ?? variables['AGENT_RUNTIME_CONFIG']
  const file = findConfig(folder, typeof named === 'string' && named !== '' ? named : undefined)
  const fromFile = file === undefined ? {} : await loadConfig(file)
  const fromVariables = readVariables(variables)
  if (Object.keys(fromVariables).some((name) => name !== 'store' && name !== 'tasks')) {
    const { assertVariables } = await import('./check-config.ts')
    assertVariables(nested(fromVariables), (name) => known.find((it) => it.name === name)?.variable ?? name)
  }
  const values: SettingValue[] = known.map((it): SettingValue => {
    const { name, variable, fallback } = it
    const flag = givenFlag(it, options)
    if (flag !== undefined)
      return { name, value: placed(name, options[flag], folder), from: 'flag', where: dashed(flag) }
    if (name in fromVariables)
      return {
        name,
        value: placed(name, fromVariables[name], folder),
        from: 'environment',
        where: variable as string,
      }
    const filed = valueIn(fromFile, name)
    if (filed !== undefined && file !== undefined)
      return { name, value: placed(name, filed, resolve(file, '..')), from: 'file', where: file }
    return { name, value: placed(name, fallback, folder), from: 'default' }
  })
  const config = fromFile.config
  const token = options['token'] ?? variables['AGENT_RUNTIME_TOKEN']
  for (const [name, value] of Object.entries(config ?? {}))
    values.push({
      name: `config.${name}`,
      value,
      from: 'file',
      ...(file === undefined ? {} : { where: file }),
    })
  return {
    ...(nested(
      Object.fromEntries(
        values.filter(({ name }) => !name.startsWith('config.')).map(({ name, value }) => [name, value]),
      ),
    ) as unknown as Settings),
    makesStore,
    config,
    jobs: fromFile.worker?.jobs,
    server: serverIn(values),
    token: typeof token === 'string' && token !== '' ? token : undefined,
    file,
    values,
  }
}

/** The flag that gives a setting in this call. Throws where two names of it say different things. */
function givenFlag({ flag, also }: Known, options: Given['options']): string | undefined {
  const given = [flag, also].filter((name) => name !== undefined && options[name] !== undefined) as string[]
  const [first, second] = given
  if (first !== undefined && second !== undefined && options[first] !== options[second])
    throw new RuntimeError(
      'invalid_argument',
      `${dashed(first)} and ${dashed(second)} are two names of one setting; give one of them`,
    )
  return first
}

function readVariables(variables: Given['variables']): Readonly<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const { name, variable, read = (text: string) => text } of known) {
    const text = variable === undefined ? undefined : variables[variable]
    if (text !== undefined && text !== '') found[name] = read(text)
  }
  return found
}

/** Paths begin at the folder of what names them. */
function placed(name: string, value: unknown, folder: string): unknown {
  if (name === 'tasks' && typeof value === 'string') return resolve(folder, value)
  return name === 'store' && typeof value === 'string' ? storeUrl(value, folder) : value
}

const strength = ['flag', 'environment', 'file', 'default'] as const

/** The server, unless the store was named in a stronger place. Throws where both were given as flags. */
function serverIn(values: readonly SettingValue[]): string | undefined {
  const server = values.find(({ name }) => name === 'server')
  const store = values.find(({ name }) => name === 'store')
  if (typeof server?.value !== 'string') return undefined
  if (server.from === 'flag' && store?.from === 'flag')
    throw new RuntimeError('invalid_argument', 'give either --store or --server')
  if (strength.indexOf(server.from) > strength.indexOf(store?.from ?? 'default')) return undefined
  if (URL.canParse(server.value) && /^https?:$/.test(new URL(server.value).protocol)) return server.value
  throw new RuntimeError(
    'invalid_argument',
    `server (${server.where ?? server.from}): the URL of a server, such as http://localhost:7007; given ${shownUrl(server.value)}`,
  )
}

function valueIn(config: object, name: string): unknown {
  return name
    .split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], config)
}

/** `{ 'a.b': 1 }` as `{ a: { b: 1 } }`. */
function nested(flat: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const whole: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(flat)) {
    const [first = '', second] = name.split('.')
    if (second === undefined) whole[first] = value
    else whole[first] = { ...(whole[first] as object | undefined), [second]: value }
  }
  return whole
}

function dashed(flag: string): string {
  return `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
