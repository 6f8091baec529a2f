import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { entriesOf, type Manifest, programsOf, publishedManifest } from '../publish/manifest.ts'
import { publicPackages } from '../publish/packages.ts'
import { publishedReadme } from '../publish/readme.ts'

const workspace = resolve(import.meta.dirname, '../..')
const packages = publicPackages(workspace)
const project = { author: 'somebody', repository: { type: 'git', url: 'git+https://example.com/a/b.git' } }

test.each(packages)(
  '$manifest.name is packed from what is staged for it, and from nothing else',
  ({ manifest }) => {
    expect(manifest.publishConfig).toEqual({ access: 'public', directory: 'publish', linkDirectory: false })
    expect(manifest.files).toContain('dist')
    expect(entriesOf(manifest)).not.toEqual([])
  },
)

test('the public packages share one version', () => {
  expect(new Set(packages.map(({ manifest }) => manifest.version)).size).toBe(1)
})

test('what is published follows from the exports: a bundle and a declaration for each', () => {
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
})

test('links in a README lead to the repository from a registry, too', () => {
  const page = [
    '# [Runtime](../../README.md)',
    '[![a picture](../../docs/a.svg)](../../docs/a.md#part) and [elsewhere](https://example.org), [here](#part)',
    '`[code](../x.md)` stays, and [named][1].',
    '',
    '[1]: ./src/index.ts',
  ].join('\n')
  expect(publishedReadme(page, 'packages/x', 'https://example.com/a/b')).toBe(
    [
      '# [Runtime](https://example.com/a/b/blob/main/README.md)',
      '[![a picture](https://example.com/a/b/raw/main/docs/a.svg)](https://example.com/a/b/blob/main/docs/a.md#part) and [elsewhere](https://example.org), [here](#part)',
      '`[code](../x.md)` stays, and [named][1].',
      '',
      '[1]: https://example.com/a/b/blob/main/packages/x/src/index.ts',
    ].join('\n'),
  )
  expect(() => publishedReadme('[out](../../../x.md)', 'packages/x', '')).toThrow(
    'leads out of the repository',
  )
})
