// Installs what the install of a single package has left out. Commands that need every package run it first.
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const workspace = resolve(import.meta.dirname, '..')
if (globSync('{packages,examples}/*/package.json', { cwd: workspace }).some(isNotInstalled)) {
  // Standard output belongs to the command that follows.
  execFileSync('npx', ['-y', 'pnpm@12.21.0', 'install', '--frozen-lockfile'], {
    cwd: workspace,
    stdio: ['ignore', process.stderr, process.stderr],
  })
}

function isNotInstalled(file: string): boolean {
  const manifest = JSON.parse(readFileSync(join(workspace, file), 'utf8')) as {
    readonly dependencies?: object
    readonly devDependencies?: object
  }
  const needs = { ...manifest.dependencies, ...manifest.devDependencies }
  return Object.keys(needs).length > 0 && !existsSync(join(workspace, dirname(file), 'node_modules'))
}
