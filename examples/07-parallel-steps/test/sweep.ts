// The task, crashed after every commit: it comes to the same end, and no recorded step runs again.
import { once } from 'node:events'
import { sweepCrashes } from '@ku0/agent-runtime/testing'
import { surveyTask } from '../src/survey.ts'

let failures = 0

/** The expert never answers; the server is away twice. */
const survey = surveyTask({
  read: (topic) => Promise.resolve(`a page on ${topic}`),
  askTheExpert: (signal) => once(signal, 'abort').then(() => 'too late'),
  upload() {
    failures -= 1
    if (failures >= 0) throw new Error('the server is away')
    return 'stored'
  },
})

export const tasks = [survey]

export const sweep = () =>
  sweepCrashes({
    tasks,
    script: (test) => {
      failures = 2
      return test.run(survey, { topics: ['rain', 'wind', 'snow'] })
    },
  })
