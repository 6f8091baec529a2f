import { relative, resolve } from 'node:path'
import type { TestModule } from 'vitest/node'

const workspace = resolve(import.meta.dirname, '../..')

export interface FileCpu {
  /** From the root of the workspace. */
  readonly file: string
  readonly seconds: number
}

/** What each file took of the processors, the most first. */
export function cpuOf(modules: readonly TestModule[]): readonly FileCpu[] {
  return modules
    .map((module) => ({ file: relative(workspace, module.moduleId), seconds: module.meta().cpuSeconds ?? 0 }))
    .toSorted((a, b) => b.seconds - a.seconds)
}

/** What all files took together, and which took most. */
export function showCpu(files: readonly FileCpu[]): string {
  const sum = files.reduce((total, { seconds }) => total + seconds, 0)
  return [
    `processor time: ${sum.toFixed(1)} s in ${files.length} files, most of it in`,
    ...files.slice(0, 12).map(({ file, seconds }) => `  ${seconds.toFixed(1).padStart(5)} s  ${file}`),
  ].join('\n')
}
