import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { benchFolder, strippedFolder } from './registry.ts'

/** The parts of this folder that a process of a run may load. */
const parts = ['*.ts', '{run,systems,peers}/*.ts']

/** An import of a part, static or not, by its relative path. */
const importOfPart = /\b(from|import)(\s*\(?\s*)'(\.{1,2}\/[^']+)\.ts'/g

/**
 * Writes the programs of this folder without their types. A program that Node has to strip first starts 35 ms later, which would be part of what is
 * measured of each system.
 */
export function stripPrograms(): void {
  rmSync(strippedFolder, { recursive: true, force: true })
  for (const file of globSync(parts, { cwd: benchFolder })) {
    const target = join(strippedFolder, file.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(target), { recursive: true })
    const stripped = stripTypeScriptTypes(readFileSync(join(benchFolder, file), 'utf8'))
    writeFileSync(target, stripped.replaceAll(importOfPart, "$1$2'$3.js'"))
  }
}
