import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createRuntime } from '@ku0/agent-runtime'
import { serve } from '@ku0/agent-runtime-server'
import { expect, test } from 'vitest'
import type { Settings } from '../src/settings/settings.ts'
import { loadTaskTypes, type TaskTypes } from '../src/task-types.ts'
import { others } from './project/tasks.ts'
import { runIn, scratchFolder } from './stores-and-shells.ts'

const isolated = join(import.meta.dirname, 'project/isolated.ts')
const tasks = join(import.meta.dirname, 'project/tasks.ts')

test('an isolated type that names no module runs from the module of the worker', async () => {
  const { definitions } = (await loadTaskTypes({ tasks: isolated } as Settings)) as TaskTypes
  expect(definitions.map(({ type, module }) => [type, module])).toEqual([
    ['apart', pathToFileURL(isolated).href],
    ['beside', undefined],
  ])
})

test('12.5 agreements are found beside the types, and a store needs the module for them', async () => {
  const { agreements } = (await loadTaskTypes({ tasks } as Settings)) as TaskTypes
  expect(agreements.map(({ name }) => name)).toEqual(['gold'])
  const folder = scratchFolder()
  const agent = (...args: string[]) => runIn({ folder }, ...args)
  const submit = ['submit', 'greet', '{"name":"Ada"}', '--agreement']
  expect((await agent(...submit, 'gold')).err).toContain('--agreement needs the module of your task types')
  expect((await agent(...submit, 'lead', '--tasks', tasks)).err).toContain(
    'there is no agreement "lead", there are "gold"',
  )
  expect(await agent(...submit, 'gold', '--tasks', tasks, '--id', 'one')).toMatchObject({ code: 0 })
  expect((await agent('agreements', '--tasks', tasks)).out).toMatch(
    /\ngold +acme +contracted +interactive +1 min +spot_check\n/,
  )
  expect((await agent('show', 'one')).out).toContain('gold, with acme (contracted)')
  expect((await agent('explain', 'one')).out).toContain('gold, with acme (contracted)')
})

/** A store in which a client begins without credits, and the command line in a folder whose configuration file names it. */
function selling() {
  const folder = scratchFolder()
  const store = `sqlite:${join(folder, 'it.db')}`
  const config = { shares: { ledger: true, outOfCredits: 'park', startCredits: 0 } } as const
  writeFileSync(
    join(folder, 'agent-runtime.config.ts'),
    `export default ${JSON.stringify({ store, config })}`,
  )
  return { store, config, agent: (...args: string[]) => runIn({ folder }, ...args) }
}

test('11.9 a client buys credits, runs out, sees what is missing, and goes on after it has bought more', async () => {
  const { agent, ...given } = selling()
  await using runtime = await createRuntime({ ...given, tasks: others, logger: false, thread: false })
  const { promise: isAsked, resolve } = Promise.withResolvers<unknown>()
  runtime.on('credits.asked', resolve)
  const submit = ['submit', 'work', '3', '--client', 'acme', '--cost', '5', '--id']
  await agent('credits', 'buy', 'acme', '7')
  expect((await agent(...submit, 'first', '--wait')).out).toBe('6\n')
  await agent(...submit, 'second')
  await isAsked
  const { out } = await agent('explain', 'second')
  expect(out).toContain(
    'client acme has 2 credits, and the task that comes next in its queue is estimated to cost 5: 3 missing; the client was asked for them',
  )
  expect(out).toMatch(/\nasked +\d{4}-\d\d-\d\dT\S+Z \(.* ago\)\n/)
  expect((await agent('queue')).out).toMatch(
    /\ncredits of its client +queued +1 .*\nclient acme has 2 credits: 3 missing, 1 task queued; it was asked for credits .* ago\n/,
  )
  await agent('credits', 'buy', 'acme', '3')
  expect((await agent('result', 'second', '--wait')).out).toBe('6\n')
  expect((await agent('credits', 'show', 'acme')).out).toMatch(/\nfree +0\nreserved +0\nspent +10\n/)
})

test('11.9 tasks without a client go on after credits were bought for the empty name', async () => {
  const { agent, ...given } = selling()
  await using runtime = await createRuntime({ ...given, tasks: others, logger: false, thread: false })
  const { promise: isAsked, resolve } = Promise.withResolvers<unknown>()
  runtime.on('credits.asked', resolve)
  await agent('submit', 'work', '3', '--id', 'nameless')
  await isAsked
  expect((await agent('explain', 'nameless')).out).toContain(
    "1 missing; the client was asked for them; buy credits with credits.purchase, or agent-runtime credits buy '' AMOUNT; tasks that name no client are paid for by the client ''",
  )
  expect((await agent('credits', 'buy', '', '3')).out).toBe('the client without a name has 3 free credits\n')
  expect((await agent('result', 'nameless', '--wait')).out).toBe('6\n')
  const server = await serve(runtime, { port: 0 })
  const remote = (...args: string[]) => agent(...args, '--server', server.url)
  expect((await remote('credits', 'buy', '', '10')).out).toMatch(/^the client without a name has 12 free/)
  expect((await remote('credits', 'show', '')).out).toMatch(/^client +without a name\n/)
  await server.close()
})

test('a worker says what is wrong with its module', async () => {
  const store = join(scratchFolder(), 'it.db')
  const wrong = async (...args: string[]) => {
    const { code, err } = await runIn({}, 'worker', ...args, '--store', store)
    expect(err.trimEnd()).not.toContain('\n')
    return [code, err]
  }
  expect(await wrong()).toEqual([
    2,
    expect.stringContaining(
      'worker needs the module of your task types: give it with --tasks FILE',
    ) as string,
  ])
  expect(await wrong('nowhere.ts')).toEqual([
    66,
    expect.stringContaining('there is no module of task types at ') as string,
  ])
  const broken = join(scratchFolder(), 'broken.ts')
  writeFileSync(broken, `throw new Error('not ready')`)
  expect(await wrong(broken)).toEqual([
    2,
    expect.stringContaining('could not be loaded: not ready') as string,
  ])
  expect(await wrong(join(import.meta.dirname, 'stores-and-shells.ts'))).toEqual([
    2,
    expect.stringContaining('exports no task type') as string,
  ])
  expect(await wrong(tasks, '--types', 'gret')).toEqual([
    2,
    expect.stringContaining('exports no task type gret, did you mean greet?') as string,
  ])
})
