// Builds the console into packages/agent-runtime-console/assets.
//
//   node packages/agent-runtime-console/app/build.ts
//
// Installs first what it needs (install.ts). A run of several programs that need the pages builds them first, and sets CONSOLE_IS_BUILT for the others.
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import './install.ts'

/** What the assets may weigh together as they travel, and what the first page brings of them. */
const MAX_GZIPPED_BYTES = { all: 200_000, first: 170_000 }

const here = import.meta.dirname
const assets = resolve(here, '../assets')

if (process.env['CONSOLE_IS_BUILT'] === undefined || !existsSync(join(assets, 'index.html')))
  // A test runner says that this is a test, and the pages would be those for development.
  execFileSync(process.execPath, ['node_modules/vite/bin/vite.js', 'build', '--logLevel', 'error'], {
    cwd: here,
    stdio: 'inherit',
    env: { ...process.env, NODE_ENV: 'production' },
  })

const weight = { all: 0, first: 0 }
const page = readFileSync(join(assets, 'index.html'), 'utf8')
for (const name of globSync('*', { cwd: assets }).toSorted()) {
  const bytes = readFileSync(join(assets, name))
  const { length } = gzipSync(bytes)
  weight.all += length
  if (name === 'index.html' || page.includes(`/${name}`)) weight.first += length
  console.log(`${name} ${kB(bytes.length)}, ${kB(length)} gzipped`)
}
console.log(`${kB(weight.all)} gzipped together, ${kB(weight.first)} of them before the first page`)
for (const part of ['all', 'first'] as const)
  if (weight[part] > MAX_GZIPPED_BYTES[part])
    throw new Error(
      `the assets (${part}) weigh ${weight[part]} bytes gzipped, more than ${MAX_GZIPPED_BYTES[part]}: find out what came in`,
    )

function kB(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} kB`
}
