import { createRequire } from 'node:module'
import type { Claim } from '@ku0/agent-runtime-core'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { AttemptObserver } from '../execution/attempt.ts'
import type { Parts } from '../execution/parts.ts'
import { IsolatedAttempt } from './isolated-attempt.ts'
import { Runners } from './runners.ts'
import type { Brought } from './words.ts'

/** Runs the tasks of a worker whose types ask for a thread or a process of their own. */
export class Isolation {
  readonly #runners: Runners
  readonly #setting: { readonly brought: Brought; readonly isStrict: boolean }

  constructor(
    { warden, deadlines }: Pick<Parts, 'warden' | 'deadlines'>,
    setting: { readonly brought: Brought; readonly isStrict: boolean },
  ) {
    this.#setting = setting
    const entry = () => createRequire(import.meta.url).resolve('@ku0/agent-runtime/task-worker')
    this.#runners = new Runners({ entry, warden, deadlines })
  }

  /** Undefined for a type that runs in the worker's own event loop. */
  attemptOf(
    parts: Parts,
    claim: Claim,
    definition: TaskDefinition,
    observer: AttemptObserver,
  ): IsolatedAttempt | undefined {
    const { isolation, module, memoryMb } = definition
    if (isolation === 'inline' || module === undefined) return undefined
    const { store, config } = parts
    return new IsolatedAttempt(parts, claim, definition, {
      observer,
      runners: this.#runners,
      spec: { isolation, module, memoryMb },
      order: { kind: 'run', module, config, info: store.info, ...this.#setting },
    })
  }

  /** Ends all threads and processes; resolves when they have ended. */
  close(): Promise<void> {
    return this.#runners.close()
  }
}
