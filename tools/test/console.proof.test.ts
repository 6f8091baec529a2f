import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const command = resolve(import.meta.dirname, '../console.ts')

test(
  'the console of a clone opens with tasks of the gym, its pages, and its reports',
  { timeout: 600_000 },
  async () => {
    const child = spawn(process.execPath, [command, '--no-open', '--port', '0'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    const ready = Promise.withResolvers<string>()
    let said = ''
    const hear = (part: Buffer) => {
      said += part.toString()
      const [, url] = /^ready: serves .* at (http:\S+),/m.exec(said) ?? []
      if (url !== undefined) ready.resolve(url)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    const url = await Promise.race([
      ready.promise,
      exited.then(() => {
        throw new Error(said)
      }),
    ])
    const ask = async (path: string) => (await fetch(`${url}/api/v1${path}`)).json()
    const { count } = (await ask('/tasks?count=true&limit=1')) as { readonly count: number }
    expect(count).toBeGreaterThan(50)
    expect(await ask('/tasks?count=true&limit=1&types=hash-files')).not.toMatchObject({ count: 0 })
    // They are there once their tasks have begun.
    const soon = { timeout: 60_000 }
    await expect.poll(() => ask('/pipelines'), soon).toMatchObject({ pipelines: [{}] })
    await expect.poll(() => ask('/supervisors'), soon).toMatchObject({ supervisors: [{}] })
    expect(await ask('/clients')).toMatchObject({ clients: [{ name: 'acme' }] })
    expect(await ask('/agents')).toMatchObject({ agents: [{}] })
    expect(await ask('/reports')).toHaveProperty('reports')
    const page = await (await fetch(url)).text()
    expect(page).toContain('<div id="root">')
    for (const [, path = ''] of page.matchAll(/(?:src|href)="(\/[^"]+)"/g))
      expect([path, (await fetch(url + path)).status]).toEqual([path, 200])
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  },
)
