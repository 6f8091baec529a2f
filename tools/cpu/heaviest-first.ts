import { relative, resolve } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { heaviest } from './heaviest.ts'

const workspace = resolve(import.meta.dirname, '../..')

/** Of all quick tests so many come before those that look at the pages of the console, which are built meanwhile. */
const beforeConsole = 1 / 4

/** Begins with the long tests that are known to take most, so that none of them is left alone at the end of a run. */
export class HeaviestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- this one is a method of Vitest's
    const sorted = await super.sort(files)
    const placed = sorted.toSorted((a, b) => placeOf(a) - placeOf(b))
    const ofConsole = placed.filter(needsPages)
    const others = placed.filter((file) => !needsPages(file))
    return others.toSpliced(Math.floor(others.length * beforeConsole), 0, ...ofConsole)
  }
}

const needsPages = ({ moduleId }: TestSpecification): boolean =>
  moduleId.includes('/agent-runtime-console/') && !moduleId.includes('.proof.')

function placeOf({ moduleId }: TestSpecification): number {
  const at = heaviest.indexOf(relative(workspace, moduleId))
  return at === -1 ? heaviest.length : at
}
