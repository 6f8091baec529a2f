import { inspectStore } from '../../src/index.ts'

export const inspect = (path: string) => inspectStore(`sqlite:${path}`)

export const submission = { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] } as const
