import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { packedFolder } from './registry.ts'

const here = import.meta.dirname
const workspace = resolve(here, '../..')
const pnpm = ['-y', 'pnpm@12.21.0']

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Installs the other systems into this folder, when they are not there or the lockfile has changed. */
export function installOthers(): void {
  const lockfile = readFileSync(join(here, 'pnpm-lock.yaml'), 'utf8')
  const installed = join(here, 'node_modules/.pnpm/lock.yaml')
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lockfile) return
  console.log('installing the other systems, some 250 MB, into tools/bench/node_modules')
  execFileSync('npx', [...pnpm, 'install', '--frozen-lockfile'], { cwd: here, stdio: 'inherit' })
}

/** Builds the packages and unpacks what would be published, so that it is measured as users get it. `tree`: where their sources are. */
export function installPacked(tree = workspace, packed = packedFolder): void {
  console.log('building and packing the packages')
  execFileSync('npx', [...pnpm, 'build'], { cwd: tree, stdio: ['ignore', 'ignore', 'inherit'] })
  rmSync(packed, { recursive: true, force: true })
  mkdirSync(join(packed, 'node_modules'), { recursive: true })
  const folders = globSync('packages/*/package.json', { cwd: tree }).map((it) => join(tree, dirname(it)))
  const needed = neededBy('@ku0/agent-runtime', new Map(folders.map((folder) => [read(folder).name, folder])))
  for (const folder of needed) unpack(folder, packed)
}

/** The folders of a package and of those of the workspace that it runs with. */
function neededBy(name: string, folders: ReadonlyMap<string, string>): readonly string[] {
  const folder = folders.get(name)
  if (folder === undefined) return []
  const below = Object.keys(read(folder).dependencies ?? {}).flatMap((it) => neededBy(it, folders))
  return [...new Set([folder, ...below])]
}

function unpack(folder: string, packed: string): void {
  const { name, dependencies = {}, peerDependencies = {} } = read(folder)
  const tarball = join(packed, `${name.replaceAll(/\W+/g, '-')}.tgz`)
  execFileSync('npx', [...pnpm, 'pack', '--out', tarball], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const target = join(packed, 'node_modules', name)
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1'])
  // Others' packages are those of the workspace, in the same versions. The driver of PostgreSQL is a peer.
  const others = Object.keys({ ...dependencies, ...peerDependencies }).filter((it) => !it.startsWith('@ku0/'))
  for (const dependency of others) {
    if (!existsSync(join(folder, 'node_modules', dependency))) continue
    const link = join(packed, 'node_modules', dependency)
    mkdirSync(dirname(link), { recursive: true })
    if (!existsSync(link)) symlinkSync(realpathSync(join(folder, 'node_modules', dependency)), link)
  }
}

function read(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}
