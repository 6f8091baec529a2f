import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RuntimeError } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { installCommand } from '../install-command.ts'
import { filesOf } from '../new-project.ts'
import { version } from '../version.ts'

export const run: Run = async ({ args: [given = '.'], print, outlet }) => {
  const here = outlet.folder ?? process.cwd()
  const folder = resolve(here, given)
  if (existsSync(folder) && readdirSync(folder).some((name) => name !== '.git'))
    throw new RuntimeError(
      'already_exists',
      `${folder} is not empty; name a new folder: agent-runtime init my-agent`,
      { details: { folder } },
    )
  const files = filesOf(nameOf(folder), version())
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  const way = relative(here, folder)
  print.answer({ folder, files: Object.keys(files) }, () => [
    ...Object.keys(files).map((path) => `  ${join(way, path)}`),
    '',
    'Next:',
    ...(way === '' ? [] : [`  cd ${way}`]),
    `  ${installCommand(fileURLToPath(import.meta.url))}`,
    '  npm test',
    '  npx agent-runtime worker --watch &',
    `  npx agent-runtime submit greet '{"name":"Ada"}' --wait`,
  ])
  return 0
}

/** A name that npm accepts. */
function nameOf(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z\d._-]+/g, '-')
    .replace(/^[._-]+/, '')
  return name === '' ? 'my-agent' : name
}
