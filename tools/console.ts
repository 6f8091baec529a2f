// Opens the console on a store with tasks of the gym, and runs them. The first time it makes the store and builds the pages.
//
//   node tools/console.ts [--no-open] [other options of agent-runtime serve]
//
// Remove the folder .demo to begin anew.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { demoStore, fillStore } from '../packages/agent-gym/src/demo/demo.ts'

const root = resolve(import.meta.dirname, '..')
const pages = join(root, 'packages/agent-runtime-console')
if (!existsSync(join(pages, 'assets/index.html')))
  execFileSync(process.execPath, [join(pages, 'app/build.ts')], { stdio: 'inherit' })
if (!existsSync(demoStore)) await fillStore()

console.log('Some of these tasks fail, and say so here: the console shows why.')
const args = process.argv.slice(2)
// What the gym of this clone has written.
const reports = join(root, 'packages/agent-gym/reports')
mkdirSync(reports, { recursive: true })
const child = spawn(
  process.execPath,
  [
    join(root, 'packages/agent-runtime-cli/bin/agent-runtime.mjs'),
    'serve',
    join(root, 'packages/agent-gym/src/demo/demo.ts'),
    '--store',
    demoStore,
    '--reports',
    reports,
    ...(args.includes('--no-open') ? [] : ['--open']),
    ...args.filter((arg) => arg !== '--no-open'),
  ],
  // Whoever reads the tasks' log lines looks at the console.
  { stdio: 'inherit', env: { ...process.env, NODE_ENV: process.env['NODE_ENV'] ?? 'test' } },
)
// The terminal sends its signals to both processes; this one leaves after the other.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => void child.kill(name))
const [code] = (await once(child, 'exit')) as [number | null]
process.exitCode = code ?? 1
