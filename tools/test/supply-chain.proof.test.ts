import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { installed, read, root } from './supply-chain.ts'

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

describe('X16 packages from elsewhere', () => {
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
