import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Manifest, readManifest } from './manifest.ts'

export interface PublicPackage {
  readonly folder: string
  readonly manifest: Manifest
}

/** The packages of the workspace that are published, by name. */
export function publicPackages(workspace: string): PublicPackage[] {
  return globSync('packages/*/package.json', { cwd: workspace })
    .toSorted()
    .map((file) => join(workspace, dirname(file)))
    .map((folder) => ({ folder, manifest: readManifest(folder) }))
    .filter(({ manifest }) => manifest.private !== true)
}
