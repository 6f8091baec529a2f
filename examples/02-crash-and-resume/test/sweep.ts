// The task, crashed after every commit: it comes to the same end, and no recorded step runs again.
import { sweepCrashes } from '@ku0/agent-runtime/testing'
import { surveyTask } from '../src/survey.ts'

const survey = surveyTask({ begins: () => Promise.resolve(), done() {} })

export const tasks = [survey]

export const sweep = () =>
  sweepCrashes({ tasks, script: (test) => test.run(survey, { name: 'agent-runtime-telemetry' }) })
