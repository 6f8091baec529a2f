import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defineConfig } from '../src/index.ts'
import { readSettings } from '../src/settings/settings.ts'
import { runIn, scratchFolder } from './stores-and-shells.ts'

/** A project with a configuration file. */
function project(config: unknown): string {
  const folder = scratchFolder()
  mkdirSync(join(folder, 'deep', 'down'), { recursive: true })
  writeFileSync(join(folder, 'agent-runtime.config.ts'), `export default ${JSON.stringify(config)}\n`)
  return folder
}

test('a flag counts more than a variable, that more than the file, and that more than the default', async () => {
  const folder = project(
    defineConfig({ store: 'file.db', worker: { mode: 'hybrid', maxJobs: 3 }, config: { maxCrashes: 9 } }),
  )
  const shown = async (variables: Record<string, string>, ...args: string[]) => {
    const { out } = await runIn(
      { folder: join(folder, 'deep', 'down'), variables },
      'config',
      '--json',
      ...args,
    )
    const { values } = JSON.parse(out) as { values: { name: string; value: unknown; from: string }[] }
    return Object.fromEntries(values.map(({ name, value, from }) => [name, [value, from]]))
  }
  expect(await shown({})).toMatchObject({
    // A path of the file begins at the folder of the file.
    store: [`sqlite:${join(folder, 'file.db')}`, 'file'],
    durability: ['full', 'default'],
    'worker.mode': ['hybrid', 'file'],
    'worker.types': [['*'], 'default'],
    'config.maxCrashes': [9, 'file'],
  })
  const variables = {
    AGENT_RUNTIME_STORE: 'sqlite:variable.db',
    TASK_WORKER_MODE: 'job',
    TASK_TYPE_FILTER: 'a, b',
  }
  expect(await shown(variables)).toMatchObject({
    store: [`sqlite:${join(folder, 'deep/down/variable.db')}`, 'environment'],
    'worker.mode': ['job', 'environment'],
    'worker.types': [['a', 'b'], 'environment'],
    'worker.maxJobs': [3, 'file'],
  })
  expect(await shown({ TASK_TYPE_FILTER: 'a,*' })).toMatchObject({ 'worker.types': [['*'], 'environment'] })
  expect(await shown(variables, '--store', '/flag.db')).toMatchObject({ store: ['sqlite:/flag.db', 'flag'] })
  const { out } = await runIn({ folder, variables }, 'config')
  expect(out).toMatch(/worker\.mode +job +environment +TASK_WORKER_MODE\n/)
})

test('the password of a store is not shown', async () => {
  const variables = { AGENT_RUNTIME_STORE: 'postgres://ada:secret@localhost/tasks' }
  const { out } = await runIn({ folder: scratchFolder(), variables }, 'config')
  expect(out).toContain('postgres://ada:***@localhost/tasks')
  expect(out).not.toContain('secret')
})

test('--concurrency is another name of --capacity, and both have to say the same', async () => {
  const capacity = async (...args: string[]) => {
    const folder = scratchFolder()
    writeFileSync(join(folder, 'tasks.ts'), '')
    return runIn({ folder }, 'worker', 'tasks.ts', '--mode', 'job', ...args)
  }
  expect((await capacity('--concurrency', '5', '--capacity', '6')).err).toContain(
    '--capacity and --concurrency are two names of one setting; give one of them',
  )
  expect((await capacity('--concurrency', '5')).err).toContain('exports no task type')
  expect((await capacity('--concurrency', 'many')).err).toContain('whole number')
  const { values } = await readSettings({
    options: { concurrency: 5 },
    variables: {},
    folder: scratchFolder(),
  })
  expect(values.find(({ name }) => name === 'worker.capacity')).toEqual({
    name: 'worker.capacity',
    value: 5,
    from: 'flag',
    where: '--concurrency',
  })
})

test('a type that the module does not export is said with the place that names it', async () => {
  const folder = project({ worker: { types: ['gret'] } })
  const tasks = join(import.meta.dirname, 'project/tasks.ts')
  const fromFile = await runIn({ folder }, 'worker', tasks, '--mode', 'job')
  expect(fromFile.err).toContain('exports no task type gret (named by ')
  const variables = { TASK_TYPE_FILTER: 'gret' }
  const fromVariable = await runIn({ folder, variables }, 'worker', tasks, '--mode', 'job')
  expect(fromVariable.err).toContain('no task type gret (named by TASK_TYPE_FILTER), did you mean greet?')
})

const mistakes: readonly [string, unknown, Record<string, string>, RegExp][] = [
  [
    'an unknown name',
    { stoer: 'x' },
    {},
    /agent-runtime\.config\.ts: stoer: no such setting, did you mean store\?/,
  ],
  [
    'an unknown name within',
    { worker: { modus: 'job' } },
    {},
    /worker\.modus: no such setting, did you mean mode\?/,
  ],
  [
    'an unknown limit of a type',
    { watchdog: { types: { a: { queueMs: 1 } } } },
    {},
    /watchdog\.types\.a\.queueMs: no such setting, did you mean queuedMs\?/,
  ],
  [
    'a wrong value',
    { worker: { mode: 'demon' } },
    {},
    /worker\.mode: .*"daemon"\|"job"\|"hybrid".*given "demon"/,
  ],
  ['no object', 7, {}, /its default export must be an object/],
  ['a wrong variable', {}, { TASK_WORKER_MODE: 'demon' }, /TASK_WORKER_MODE: .*given "demon"/],
  ['a variable that is no number', {}, { TASK_WORKER_CAPACITY: 'many' }, /TASK_WORKER_CAPACITY: .*number/],
]
test.each(mistakes)(
  'a configuration with %s is refused, and the message says where',
  async (_, config, variables, message) => {
    const found = await runIn({ folder: project(config), variables }, 'config')
    expect(found).toMatchObject({ code: 2, out: '', err: expect.stringMatching(message) as string })
    expect(found.err).not.toMatch(/\n\s+at /)
  },
)

test('a file that cannot be loaded, or is not there, is named', async () => {
  const folder = scratchFolder()
  writeFileSync(join(folder, 'agent-runtime.config.ts'), 'export default {')
  expect((await runIn({ folder }, 'config')).err).toMatch(/agent-runtime\.config\.ts could not be loaded: /)
  expect(await runIn({ folder }, 'config', '--config', 'other.ts')).toMatchObject({ code: 66 })
})
