// What the workspace needs from elsewhere, as its manifests and the installed packages say.
import { globSync, readFileSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'

export interface Manifest {
  readonly name: string
  readonly version?: string
  readonly license?: string
  readonly private?: boolean
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

export const root = resolve(import.meta.dirname, '../..')
export const read = (path: string) => readFileSync(join(root, path), 'utf8')
export const manifests = globSync(['package.json', '{packages,examples}/*/package.json'], { cwd: root }).map(
  (path) => JSON.parse(read(path)) as Manifest,
)
export const workspace = read('pnpm-workspace.yaml')
/** The lines below a key of the workspace's settings, each as its name and value. */
export const section = (key: string) => {
  const [, lines = ''] = new RegExp(String.raw`^${key}:\n((?: +.*\n|\n)+)`, 'm').exec(workspace) ?? []
  return [...lines.matchAll(/^ {2}'?([^'#\s:]+)'?: (.+)$/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ])
}

/** What a package brings into every program that has it. The peers that it says are optional are the program's own affair. */
export function needed({ dependencies, peerDependencies, peerDependenciesMeta }: Manifest): string[] {
  return Object.keys({ ...dependencies, ...peerDependencies }).filter(
    (name) => peerDependenciesMeta?.[name]?.optional !== true,
  )
}

/** The packages that run in production, by name and version, each found where the package that needs it finds it. */
export function installed() {
  const found = new Map<string, Manifest>()
  const visit = (folder: string) => {
    for (const name of needed(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest)) {
      const places = [join(folder, 'node_modules', name), join(folder, '../'.repeat(depthOf(folder)), name)]
      const place = places.find((it) => globSync(join(it, 'package.json')).length > 0)
      if (place === undefined) throw new Error(`${folder} needs ${name}, which is not installed`)
      const manifest = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as Manifest
      const key = `${manifest.name}@${manifest.version}`
      if (found.has(key)) continue
      found.set(key, manifest)
      visit(realpathSync(place))
    }
  }
  for (const path of globSync('packages/*/package.json', { cwd: root })) visit(join(root, path, '..'))
  return found
}

/** How far up the packages lie that an installed one finds beside it: one more for a scope. */
const depthOf = (folder: string) => (/\/@[^/]+\/[^/]+$/.test(folder) ? 2 : 1)
