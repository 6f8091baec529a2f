import { execFileSync } from 'node:child_process'
import { posix } from 'node:path'
import type { Packed } from './pack.ts'
import type { PublicPackage } from './packages.ts'

/** What a tarball may hold, besides what its package lists in `files`. */
const expected = [
  /^package\.json$/,
  /^(?:README|CHANGELOG)\.md$/,
  /^LICENSE$/,
  /^dist\/[\w-]+\.js$/,
  /^dist\/LICENSES\.txt$/,
  /^dist\/types\/.+\.d\.ts$/,
]

/** The packages in an order in which each comes after those of ours that it needs, as a registry has to get them. */
export function inOrderOfNeed<P extends PublicPackage>(packages: readonly P[]): P[] {
  const ordered: P[] = []
  const visit = (it: P) => {
    if (ordered.includes(it)) return
    const needs = { ...it.manifest.dependencies, ...it.manifest.peerDependencies }
    for (const other of packages) if (other !== it && other.manifest.name in needs) visit(other)
    ordered.push(it)
  }
  for (const it of packages) visit(it)
  return ordered
}

/** The files of a tarball, as they lie in the package. */
export function filesOf(tarball: string): string[] {
  const list = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' })
  return list
    .split('\n')
    .filter((file) => file !== '' && !file.endsWith('/'))
    .map((file) => posix.relative('package', file))
}

/** Files that nobody meant to publish. */
export function unexpectedFiles(files: readonly string[], extras: readonly string[]): string[] {
  return files.filter(
    (file) =>
      !expected.some((pattern) => pattern.test(file)) &&
      !extras.some((extra) => file.startsWith(`${extra}/`)),
  )
}

/** Why these packages cannot be released. `changelogs` has the text of each by the name of its package. */
export function obstacles(
  packages: readonly PublicPackage[],
  changelogs: Readonly<Record<string, string | undefined>>,
  changesets: readonly string[],
): string[] {
  const versions = [...new Set(packages.map(({ manifest }) => manifest.version))]
  if (versions.length > 1)
    return [`the packages have the versions ${versions.join(', ')}; they are released together, under one`]
  const [version = ''] = versions
  const silent = packages.filter(({ manifest }) => !changelogs[manifest.name]?.includes(`\n## ${version}\n`))
  return [
    ...silent.map(({ manifest }) => `CHANGELOG.md of ${manifest.name} says nothing about ${version}`),
    ...(changesets.length === 0
      ? []
      : [`${changesets.length} changesets wait for "pnpm changeset version": ${changesets.join(', ')}`]),
  ]
}

/** One line of what is published. */
export function lineOf({ manifest, files, size, unpackedSize }: Packed): string {
  const kilobytes = (bytes: number) => `${Math.ceil(bytes / 1_000)} kB`
  return `${manifest.name}@${manifest.version}: ${files} files, ${kilobytes(size)} packed, ${kilobytes(unpackedSize)} unpacked`
}
