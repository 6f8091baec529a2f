// Runs the survey in a world where reading takes its time, the expert takes too long, and the server is away at first.
import { setTimeout as pause } from 'node:timers/promises'
import { createRuntime } from '@ku0/agent-runtime'
import { surveyTask } from './survey.ts'

let failures = 2

const survey = surveyTask({
  read: (topic) => pause(100, `a page on ${topic}`),
  askTheExpert: (signal) => pause(60_000, 'well, …', { signal }),
  upload() {
    failures -= 1
    if (failures >= 0) throw new Error('the server is away')
    return 'stored'
  },
})

await using runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [survey], logger: false })
const receipt = await runtime.submit(survey, { topics: ['rain', 'wind', 'snow'] })
console.log(JSON.stringify(await runtime.result(receipt), undefined, 2))

for await (const { type, data } of runtime.events(receipt)) {
  if (type === 'step.completed') console.log(`done: ${data.key}`)
  if (type === 'step.failed') console.log(`failed: ${data.key}`)
}
