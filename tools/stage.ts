// Makes the folder `publish` of each public package, or of those that are named: everything that is published for it. `pnpm pack` and `pnpm release` take it
// from there. The compiler has to run first.
//
//   pnpm build
//   node tools/stage.ts [PACKAGE...]
import { resolve } from 'node:path'
import { publicPackages } from './publish/packages.ts'
import { stagePackage } from './publish/stage-package.ts'

const workspace = resolve(import.meta.dirname, '..')
const asked = process.argv.slice(2)
for (const { folder, manifest } of publicPackages(workspace))
  if (asked.length === 0 || asked.includes(manifest.name)) await stagePackage(workspace, folder)
