import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { entriesOf, type Manifest, programsOf, publishedManifest, threadsOf } from '../publish/manifest.ts'
import { publicPackages } from '../publish/packages.ts'
import { publishedPage } from '../publish/page.ts'
import { inOrderOfNeed, obstacles, unexpectedFiles } from '../publish/release-checks.ts'

const workspace = resolve(import.meta.dirname, '../..')
const packages = publicPackages(workspace)
const project = { author: 'somebody', repository: { type: 'git', url: 'git+https://example.com/a/b.git' } }

test.each(packages)(
  '$manifest.name is packed from what is staged for it, and from nothing else',
  ({ manifest }) => {
    expect(manifest.publishConfig).toMatchObject({
      access: 'public',
      directory: 'publish',
      linkDirectory: false,
    })
    expect(manifest.files).toContain('dist')
    expect(entriesOf(manifest)).not.toEqual([])
  },
)

test('the public packages share one version', () => {
  expect(new Set(packages.map(({ manifest }) => manifest.version)).size).toBe(1)
})

test('the published files follow from the exports: a bundle and a declaration for each', () => {
  const { folder, manifest } = packages.find((it) => it.manifest.name === '@ku0/agent-runtime-persistence')!
  const published = publishedManifest(manifest, project, folder, 'packages/x')
  expect(published).toMatchObject({
    exports: {
      '.': { types: './dist/types/index.d.ts', default: './dist/index.js' },
      './store-worker': { types: './dist/types/line/store-worker.d.ts', default: './dist/store-worker.js' },
    },
    sideEffects: ['./dist/store-worker.js'],
    // Our own by version, those of others as a range, and zod as a part of the bundles.
    dependencies: {
      '@ku0/agent-runtime-core': manifest.version,
      'better-sqlite3': expect.stringMatching(/^\^\d+\.\d+\.\d+$/) as string,
    },
    homepage: 'https://example.com/a/b/tree/main/packages/x#readme',
    bugs: { url: 'https://example.com/a/b/issues' },
  })
  expect(published).not.toHaveProperty('scripts')
  expect(published).not.toHaveProperty('devDependencies')
  expect(published).not.toHaveProperty('dependencies.zod')
})

test('a package that cannot be published says what is wrong with it', () => {
  const manifest: Manifest = { name: '@ku0/odd', version: '0.0.0', exports: { '.': './lib/index.js' } }
  expect(() => entriesOf(manifest)).toThrow(
    '@ku0/odd: exports["."] has to be a source such as "./src/index.ts"',
  )
  const odd = { ...manifest, exports: { '.': './src/index.ts' }, sideEffects: ['./src/thread.ts'] }
  expect(() => programsOf(odd)).toThrow('@ku0/odd: sideEffects names ./src/thread.ts')
  const still = { ...odd, sideEffects: [], publishConfig: { threads: ['./thread'] } }
  expect(() => threadsOf(still)).toThrow('@ku0/odd: publishConfig.threads names ./thread')
})

test('links in a page of a package lead to the repository from a registry, too', () => {
  const page = [
    '# [Runtime](../../README.md)',
    '[![a picture](../../docs/a.svg)](../../docs/a.md#part) and [elsewhere](https://example.org), [here](#part)',
    '`[code](../x.md)` stays, and [named][1].',
    '',
    '[1]: ./src/index.ts',
  ].join('\n')
  expect(publishedPage(page, 'packages/x', 'https://example.com/a/b')).toBe(
    [
      '# [Runtime](https://example.com/a/b/blob/main/README.md)',
      '[![a picture](https://example.com/a/b/raw/main/docs/a.svg)](https://example.com/a/b/blob/main/docs/a.md#part) and [elsewhere](https://example.org), [here](#part)',
      '`[code](../x.md)` stays, and [named][1].',
      '',
      '[1]: https://example.com/a/b/blob/main/packages/x/src/index.ts',
    ].join('\n'),
  )
  expect(() => publishedPage('[out](../../../x.md)', 'packages/x', '')).toThrow('leads out of the repository')
})

test('a release comes in the order of need, and lists nothing that is not meant for users', () => {
  const names = inOrderOfNeed(packages).map(({ manifest }) => manifest.name)
  expect(names.toSorted()).toEqual(packages.map(({ manifest }) => manifest.name).toSorted())
  const [core, store, runtime] = ['core', 'persistence', ''].map((it) =>
    names.indexOf(`@ku0/agent-runtime${it === '' ? '' : `-${it}`}`),
  ) as [number, number, number]
  expect(core).toBeLessThan(store)
  expect(store).toBeLessThan(runtime)
  const files = ['package.json', 'README.md', 'dist/index.js', 'dist/types/api/client.d.ts', 'bin/run.mjs']
  expect(unexpectedFiles(files, ['bin'])).toEqual([])
  expect(unexpectedFiles([...files, 'dist/index.js.map', 'src/index.ts', '.env'], [])).toEqual([
    'bin/run.mjs',
    'dist/index.js.map',
    'src/index.ts',
    '.env',
  ])
})

test('a release is refused without a line in the CHANGELOG, with a waiting changeset, or with two versions', () => {
  const some = (name: string, version: string) => ({ folder: name, manifest: { name, version, exports: {} } })
  const changelogs = { a: '# a\n\n## 1.2.0\n\nText.\n', b: '# b\n\n## 1.1.0\n' }
  expect(obstacles([some('a', '1.2.0')], changelogs, [])).toEqual([])
  expect(obstacles([some('a', '1.2.0'), some('b', '1.2.0')], changelogs, ['new.md'])).toEqual([
    'CHANGELOG.md of b says nothing about 1.2.0',
    '1 changesets wait for "pnpm changeset version": new.md',
  ])
  expect(obstacles([some('a', '1.2.0'), some('b', '1.1.0')], changelogs, [])).toEqual([
    'the packages have the versions 1.2.0, 1.1.0; they are released together, under one',
  ])
})
