import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const manifests = globSync(['package.json', '{packages,examples}/*/package.json'], { cwd: root }).map(
  (path) => JSON.parse(read(path)) as Manifest,
)
const workspace = read('pnpm-workspace.yaml')
/** The lines below a key of the workspace's settings, each as its name and value. */
const section = (key: string) => {
  const [, lines = ''] = new RegExp(String.raw`^${key}:\n((?: +.*\n|\n)+)`, 'm').exec(workspace) ?? []
  return [...lines.matchAll(/^ {2}'?([^'#\s:]+)'?: (.+)$/gm)].map(([, name = '', value = '']) => [
    name,
    value,
  ])
}

describe('X16 what comes from elsewhere', () => {
  test('X16 is named by its hash in the lockfile, comes from the registry, and is installed as it says there', () => {
    const lockfile = read('pnpm-lock.yaml')
    const resolutions = [...lockfile.matchAll(/^ {4}resolution: (.+)$/gm)].map(([, resolution]) => resolution)
    expect(resolutions.length).toBeGreaterThan(100)
    expect(resolutions.filter((it) => !/^\{integrity: sha512-[\w+/]{86}==\}$/.test(it ?? ''))).toEqual([])
    expect(read('.ci/run')).toContain('install --frozen-lockfile')
  })

  test('X16 runs no script when it is installed', () => {
    expect(section('allowBuilds')).toEqual([['better-sqlite3', 'false']])
    const own = manifests.flatMap(({ name, scripts = {} }) =>
      Object.keys(scripts)
        .filter((script) => /^(pre|post)?(install|prepare|pack|publish)/.test(script))
        .map((script) => `${name} ${script}`),
    )
    expect(own).toEqual([])
  })

  test('X16 has one exact version, in the catalog', () => {
    const catalog = section('catalog')
    expect(catalog.length).toBeGreaterThan(20)
    expect(catalog.filter(([, version = '']) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
    const loose = manifests.flatMap(({ name, dependencies, devDependencies }) =>
      Object.entries({ ...dependencies, ...devDependencies })
        .filter(([, range]) => range !== 'catalog:' && range !== 'workspace:*')
        .map(([dependency, range]) => `${name}: ${dependency} ${range}`),
    )
    expect(loose).toEqual([])
  })

  test('X16 is six packages in a program that uses the runtime', () => {
    const published = manifests.filter((it) => it.private !== true)
    const foreign = published.flatMap(({ dependencies = {} }) =>
      Object.keys(dependencies).filter((name) => !name.startsWith('@ku0/')),
    )
    expect([...new Set(foreign)].toSorted()).toEqual([
      '@opentelemetry/api',
      'better-sqlite3',
      'croner',
      'kysely',
      'pino',
      'zod',
    ])
  })
})
