// The task, crashed after every commit: it comes to the same end, and no recorded step runs again.
import { sweepCrashes } from '@ku0/agent-runtime/testing'
import { greet } from '../src/greet.ts'

export const tasks = [greet]

export const sweep = () => sweepCrashes({ tasks, script: (test) => test.run(greet, { name: 'world' }) })
