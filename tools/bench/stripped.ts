import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { benchFolder, strippedFolder } from './registry.ts'

/** The parts of this folder that a process of a run may load. */
const parts = ['*.ts', '{run,systems,peers}/*.ts']

/** An import by a relative path, static or not. */
const importByPath = /\b(from|import)(\s*\(?\s*)'(\.{1,2}\/[^']+)\.ts'/g

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
    const moved = (_: string, verb: string, between: string, path: string) =>
      `${verb}${between}'${placeOf(resolve(benchFolder, dirname(file), path), path)}'`
    writeFileSync(target, stripped.replaceAll(importByPath, moved))
  }
}

/** A part is imported without its types, and what is no part from where it is. */
function placeOf(file: string, path: string): string {
  return relative(benchFolder, file).startsWith('..') ? pathToFileURL(`${file}.ts`).href : `${path}.js`
}
