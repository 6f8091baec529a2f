import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createRuntime, defineTask } from '../../packages/agent-runtime/src/index.ts'
import { z } from '../../packages/agent-runtime/node_modules/zod/index.js'
import { createServer } from '../../packages/agent-runtime-server/src/index.ts'
import type { TriedMistake } from './mistake.ts'

const program = resolve(import.meta.dirname, '../../packages/agent-runtime-cli/bin/agent-runtime.mjs')

const typed = (what: string, line: string, ...args: readonly string[]): TriedMistake => ({
  what,
  code: `agent-runtime ${line}`,
  tried: () => {
    const folder = mkdtempSync(join(tmpdir(), 'ku0-mistakes-'))
    try {
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
      const env = { PATH: process.env['PATH'], HOME: folder, NO_COLOR: '1' }
      const { stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
        cwd: folder,
        env,
        encoding: 'utf8',
      })
      return (stderr.trim() === '' ? stdout : stderr).trim().split('\n').slice(0, 3).join('\n')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
})

export const terminalMistakes: readonly TriedMistake[] = [
  typed('a command of another program', 'tasks', 'tasks'),
  typed('no store', 'list', 'list'),
  typed('a store that is not there', 'list --store sqlite:none.db', 'list', '--store', 'sqlite:none.db'),
  typed('an option with a typing error', 'list --stat failed', 'list', '--stat', 'failed'),
  typed(
    'an input that is no JSON',
    "submit greet '{name: Ada}'",
    'submit',
    'greet',
    '{name: Ada}',
    '--store',
    'sqlite:a.db',
  ),
  typed('a worker without its tasks', 'worker', 'worker', '--store', 'sqlite:a.db'),
  typed('a module that is not there', 'worker ./tasks.ts', 'worker', './tasks.ts', '--store', 'sqlite:a.db'),
]

const asked = (what: string, code: string, path: string, init: RequestInit = {}): TriedMistake => ({
  what,
  code,
  tried: async () => {
    const task = defineTask({ type: 'greet', input: z.object({ name: z.string() }) }, (_, { name }) => name)
    await using runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [task], logger: false })
    const server = createServer(runtime)
    const headers = { 'content-type': 'application/json' }
    const response = await server.fetch(new Request(`http://localhost/api/v1${path}`, { headers, ...init }))
    const body = (await response.json()) as {
      detail?: string
      title?: string
      message?: string
      reason?: string
    }
    await server.close()
    return `${response.status}: ${body.detail ?? body.message ?? body.title ?? JSON.stringify(body)}`
  },
})

const post = (body: string): RequestInit => ({ method: 'POST', body })

export const httpMistakes: readonly TriedMistake[] = [
  asked('a route that there is not', 'GET /api/v1/task', '/task'),
  asked('a wrong method', 'DELETE /api/v1/tasks', '/tasks', { method: 'DELETE' }),
  asked('a body that is no JSON', 'POST /api/v1/tasks {task: greet}', '/tasks', post('{task: greet}')),
  asked('a body without its task', 'POST /api/v1/tasks {"type":"greet"}', '/tasks', post('{"type":"greet"}')),
  asked(
    'an input that does not fit',
    'POST /api/v1/tasks {"task":"greet","input":{"name":5}}',
    '/tasks',
    post('{"task":"greet","input":{"name":5}}'),
  ),
  asked('an unknown task', 'GET /api/v1/tasks/nobody', '/tasks/nobody'),
]
