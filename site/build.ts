// Builds the documentation site into site/dist: the pages of docs/, READMEs, an API reference from the sources, and texts for models.
//
//   node site/build.ts
//
// Installs what it needs into site/node_modules when that is missing.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { writeForModels } from './llms.ts'
import { sitePages, writePages } from './pages.ts'

const site = import.meta.dirname
const root = resolve(site, '..')
const pages = join(site, '.pages')

if (!existsSync(join(site, 'node_modules')))
  run('npx', ['-y', 'pnpm@12.21.0', 'install', '--frozen-lockfile'])
rmSync(pages, { recursive: true, force: true })
mkdirSync(pages, { recursive: true })
const groups = sitePages(root)
writePages(
  root,
  pages,
  groups.flatMap((group) => group.pages),
)
writeForModels(root, pages, groups)
run('node_modules/.bin/typedoc', ['--options', 'typedoc.json'])
writeFileSync(join(pages, 'groups.json'), JSON.stringify(groups))
run('node_modules/.bin/vitepress', ['build'])

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { cwd: site, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`)
}
