import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createClient } from '@ku0/agent-runtime'
import { expect, onTestFinished, test } from 'vitest'
import { bin, scratchFolder } from './stores-and-shells.ts'

/** A handler that runs until its process gets SIGUSR2. The word stands in a file that the module imports. */
const module = `
import { once } from 'node:events'
import { defineTask } from '${import.meta.resolve('@ku0/agent-runtime')}'
import { z } from '${import.meta.resolve('zod')}'
import { word } from './word.ts'

export const slow = defineTask({ type: 'slow', input: z.null() }, async () => {
  const come = once(process, 'SIGUSR2')
  console.log(JSON.stringify({ type: 'runs' }))
  await come
  return word
})
`

test('SIGHUP drains a worker, which goes on with the files as they are then; SIGTERM drains it and ends it', async () => {
  const folder = scratchFolder()
  const ready = join(folder, 'ready')
  const write = (word: string) => writeFileSync(join(folder, 'word.ts'), `export const word = ${word}\n`)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'tasks.ts'), module)
  write('"first"')
  const store = `sqlite:${join(folder, 'it.db')}`
  const client = await createClient({ store, logger: false })
  onTestFinished(() => client.close())

  const args = ['worker', 'tasks.ts', '--store', store, '--ready-file', ready, '--ready-port', '0', '--json']
  const worker = spawn(process.execPath, [bin, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'test' },
  })
  onTestFinished(() => void worker.kill('SIGKILL'))
  const lines = createInterface(worker.stdout)[Symbol.asyncIterator]()
  const next = async () => {
    const { value } = (await lines.next()) as { readonly value: string }
    return JSON.parse(value) as { readonly type: string; readonly probe?: string }
  }
  const slow = async () => {
    const receipt = await client.submit('slow', null)
    expect(await next()).toEqual({ type: 'runs' })
    return receipt
  }
  const { probe } = await next()
  const isReady = async () => [(await fetch(probe!)).status, existsSync(ready)]
  expect(await isReady()).toEqual([200, true])

  const first = await slow()
  write('"second"')
  worker.kill('SIGHUP')
  expect([await next(), await next()]).toEqual([{ type: 'reloading' }, { type: 'draining' }])
  expect(await isReady()).toEqual([503, false])
  worker.kill('SIGUSR2')
  expect(await next()).toEqual({ type: 'stopped', drained: true, released: 0 })
  expect(await next()).toMatchObject({ type: 'ready', probe })
  expect(await isReady()).toEqual([200, true])

  const second = await slow()
  write('a typing error')
  worker.kill('SIGHUP')
  expect(await next()).toMatchObject({ type: 'reload.failed' })
  expect(await isReady()).toEqual([200, true])
  worker.kill('SIGTERM')
  expect(await next()).toEqual({ type: 'draining' })
  worker.kill('SIGUSR2')
  const [code] = (await once(worker, 'exit')) as [number | null]
  expect(code).toBe(0)
  expect([await client.result(first), await client.result(second)]).toEqual(['first', 'second'])
  expect(existsSync(ready)).toBe(false)
})
