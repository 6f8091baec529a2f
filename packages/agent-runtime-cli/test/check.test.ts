import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { runIn, scratchFolder } from './stores-and-shells.ts'

const minutes = 60_000

function quiet(store: string) {
  return {
    store: `sqlite:${store}`,
    thread: false,
    strict: false,
    logger: false,
    telemetry: false,
  } as const
}

test('check and doctor name the settings of a type that two workers know differently', async () => {
  const store = join(scratchFolder(), 'it.db')
  const typed = (timeoutMs: number) => [
    defineTask({ type: 'digest', input: z.null(), timeoutMs }, () => null),
  ]
  await using one = await createRuntime({ ...quiet(store), tasks: typed(1_000) })
  await using two = await createRuntime({ ...quiet(store), tasks: typed(2_000) })
  const { code, out } = await runIn({}, 'check', '--store', store)
  expect([one.info.kind, two.info.kind, code]).toEqual(['sqlite', 'sqlite', 1])
  expect(out).toMatch(
    /^1 problem\nworkers know the type digest differently: its timeoutMs is [12]000 for .*, and [12]000 for .*\n$/,
  )
  const doctor = await runIn({}, 'doctor', store)
  expect(doctor.out).toMatch(
    /\nwarning: workers know the type digest differently: its timeoutMs is [12]000 for .*, and [12]000 for .*\n/,
  )
})

test('check, stats and doctor name the settings of the store in which processes differ; looking changes none', async () => {
  const store = join(scratchFolder(), 'it.db')
  await using one = await createRuntime({ ...quiet(store), tasks: [], config: { queueDepthLimit: 900 } })
  await using two = await createRuntime({ ...quiet(store), tasks: [], config: { queueDepthLimit: 800 } })
  const { code, out } = await runIn({}, 'check', '--store', store)
  expect([one.info.kind, two.info.kind, code]).toEqual(['sqlite', 'sqlite', 1])
  const said = `processes have different settings: queueDepthLimit is 800 in force, and 900 for process ${process.pid} on`
  expect(out).toContain(`1 problem\n${said}`)
  expect((await runIn({}, 'stats', '--store', store)).out).toContain('1 setting in which processes differ')
  expect((await runIn({}, 'doctor', store)).out).toContain(`warning: ${said}`)
})

test('check finds what is stuck, says why, and ends with 1', async () => {
  const store = join(scratchFolder(), 'it.db')
  /** The command, so many ms later. */
  const check = (laterMs: number, ...args: string[]) =>
    runIn(
      { system: { now: () => Date.now() + laterMs, sleep: async () => undefined, secret: () => 'x' } },
      'check',
      '--store',
      store,
      ...args,
    )
  const isOpen = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const hang = defineTask({ type: 'hang', input: z.null() }, async () => {
    begun.resolve()
    await isOpen.promise
  })
  const nap = defineTask({ type: 'nap', input: z.null() }, (ctx) => ctx.sleep('nap', minutes))
  const silent = { thread: false, strict: false, logger: false, telemetry: false } as const
  const runtime = await createRuntime({
    store: `sqlite:${store}`,
    tasks: [hang, nap],
    workers: { capacity: 2 },
    ...silent,
  })
  onTestFinished(async () => {
    isOpen.resolve()
    await runtime.stop()
  })
  expect(await check(60 * minutes)).toEqual({ code: 0, out: 'well: nothing is stuck\n', err: '' })

  const hanging = await runtime.submit(hang, null)
  await begun.promise
  const parked = Promise.withResolvers<void>()
  using _ = runtime.on('task.waiting', () => parked.resolve())
  const napping = await runtime.submit(nap, null)
  await parked.promise
  expect(await check(0)).toMatchObject({ code: 0 })
  const late = await check(16 * minutes, '--json')
  expect(late.code).toBe(1)
  expect(JSON.parse(late.out)).toMatchObject({
    ok: false,
    found: [
      { what: 'running', type: 'hang', taskId: hanging.taskId },
      {
        what: 'overdue',
        type: 'nap',
        taskId: napping.taskId,
        why: expect.stringContaining('waits for') as string,
      },
    ],
  })
  expect(await check(16 * minutes, '--running', '20m', '--overdue', '1h')).toMatchObject({ code: 0 })

  await runIn({}, 'submit', 'nobodys', '1', '--store', store)
  const { code, out } = await check(0)
  expect(code).toBe(1)
  expect(out).toMatch(/^1 problem\nWHAT .*\nno worker +nobodys .* no (live )?worker/)
})

test('config, workers and stats show the settings in force for all processes, and where this file or a process differs', async () => {
  const folder = scratchFolder()
  const store = join(folder, 'it.db')
  writeFileSync(
    join(folder, 'agent-runtime.config.ts'),
    `export default { store: ${JSON.stringify(store)}, config: { queueDepthLimit: 800, maxClients: 7 } }`,
  )
  const none = await runIn({ folder }, 'config', '--in-force')
  expect(none).toMatchObject({ code: 66, out: '' })
  const nothing = defineTask({ type: 'nothing', input: z.null() }, () => null)
  await using worker = await createRuntime({
    ...quiet(store),
    tasks: [nothing],
    config: { queueDepthLimit: 800, maxClients: 9, retention: { completed: { count: 5 } } },
  })
  expect(worker.info.kind).toBe('sqlite')
  const { out } = await runIn({ folder }, 'config', '--in-force')
  expect(out).toMatch(new RegExp(`\nin force for all processes since .*, from process ${process.pid} on `))
  expect(out).toMatch(/\nSETTING OF THE STORE +IN FORCE +IN THIS FILE\n/)
  expect(out).toMatch(/\nqueueDepthLimit +800\n/)
  expect(out).toMatch(/\nmaxClients +9 +7\n/)
  expect(out).toMatch(/\nretention +\{.*\} +not set\n/)
  expect(JSON.parse((await runIn({ folder }, 'config', '--in-force', '--json')).out)).toMatchObject({
    inForce: {
      settings: { maxClients: 9 },
      processes: [{ pid: process.pid }],
      differences: [{ setting: 'retention' }, { setting: 'maxClients', here: '7', there: '9' }],
    },
  })
  const said = 'this configuration file differs: maxClients is 9 in force, and 7 here'
  for (const command of ['workers', 'stats']) {
    const found = await runIn({ folder }, command)
    expect({ command, code: found.code, said: found.out.includes(said) }).toEqual({
      command,
      code: 0,
      said: true,
    })
  }
  expect((await runIn({ folder }, 'stats')).out).toContain(`those of process ${process.pid} on `)
  await using other = await createRuntime({ ...quiet(store), tasks: [], config: { queueDepthLimit: 900 } })
  expect(other.info.kind).toBe('sqlite')
  expect((await runIn({}, 'workers', '--store', store)).out).toContain(
    `queueDepthLimit is 900 in force, and 800 for process ${process.pid} on`,
  )
})
