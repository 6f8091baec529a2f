import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { PublicPackage } from './packages.ts'
import { staged, stagePackage } from './stage-package.ts'

/** A package and the tarball that a registry gets. */
export interface Packed extends PublicPackage {
  readonly tarball: string
  readonly files: number
  /** Bytes of the tarball, and of what is in it. */
  readonly size: number
  readonly unpackedSize: number
}

interface Report {
  readonly name: string
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly entryCount: number
}

/** The tarballs of `packages` in a folder that they were packed to before. */
export function tarballsIn(
  folder: string,
  packages: readonly PublicPackage[],
): readonly (PublicPackage & Pick<Packed, 'tarball'>)[] {
  return packages.map((it) => {
    const { name, version } = it.manifest
    const tarball = join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)
    if (!existsSync(tarball)) throw new Error(`${tarball} does not exist: "pnpm release --pack" writes it`)
    return { ...it, tarball }
  })
}

/** Stages `packages` and packs them to the folder `to`, in their order. The compiler has to run first. */
export async function packPackages(
  workspace: string,
  packages: readonly PublicPackage[],
  to: string,
): Promise<Packed[]> {
  for (const { folder } of packages) await stagePackage(workspace, folder)
  const folders = packages.map(({ folder }) => join(folder, staged))
  const output = execFileSync(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', to, ...folders],
    {
      cwd: workspace,
      encoding: 'utf8',
    },
  )
  const reports = JSON.parse(output) as Report[]
  return packages.map((it) => {
    const report = reports.find(({ name }) => name === it.manifest.name)
    if (report === undefined)
      throw new Error(`npm pack reports nothing about ${it.manifest.name}:\n${output}`)
    const { filename, size, unpackedSize, entryCount: files } = report
    return { ...it, tarball: join(to, filename), files, size, unpackedSize }
  })
}
