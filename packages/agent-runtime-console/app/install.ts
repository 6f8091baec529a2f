// Installs what only the console's pages need into this folder's node_modules, when that is missing or the lockfile has changed. Their build needs it, and so does the
// linter: a type that it cannot find is `any` for it, and it judges the pages otherwise.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const here = import.meta.dirname

if (!isInstalled()) install()

function isInstalled(): boolean {
  const installed = join(here, 'node_modules/.pnpm/lock.yaml')
  const wanted = readFileSync(join(here, 'pnpm-lock.yaml'), 'utf8')
  return existsSync(installed) && readFileSync(installed, 'utf8') === wanted
}

/** By the pnpm that runs this, if one does: npx takes two seconds to find it. */
function install(): void {
  const { npm_config_user_agent: agent, npm_execpath: pnpm } = process.env
  const isOurs = agent?.startsWith('pnpm/12.21.0 ') === true && pnpm?.endsWith('/pnpm') === true
  const [command, ...first] = isOurs ? [pnpm] : ['npx', '-y', 'pnpm@12.21.0']
  // Standard output belongs to the command that follows.
  execFileSync(command, [...first, 'install', '--frozen-lockfile'], {
    cwd: here,
    stdio: ['ignore', process.stderr, process.stderr],
    env: { ...process.env, NODE_ENV: 'production' },
  })
}
