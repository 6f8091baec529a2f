import type { ExecutionConfigInput } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { TestTools } from './tools.ts'

/** The functions that a section of the suite writes its tests with. */
export interface Suite {
  readonly expect: TestTools['expect']
  /** How many of a rule's seeds are played. */
  readonly seeds: (all: number) => number
  /** A test on a store of its own. */
  readonly rule: (title: string, body: (scene: Scene) => Promise<void>, options?: SceneOptions) => void
  /** The same for a rule that only shows when time is moved. */
  readonly timed: (title: string, body: (scene: Scene) => Promise<void>, options?: SceneOptions) => void
  /** A test that plays several scenes and compares them. */
  readonly twice: (title: string, script: (play: Play) => Promise<void>, options?: SceneOptions) => void
}

export interface SceneOptions {
  readonly config?: ExecutionConfigInput
}

type Play = (body: (scene: Scene) => Promise<void>, options?: { readonly seed?: string }) => Promise<void>
