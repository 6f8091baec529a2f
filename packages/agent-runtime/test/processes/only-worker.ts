// Only runs tasks, from the database given: a review waits for an approval, then for the signal `go`.
import { createWorker, defineTask } from '../../src/index.ts'
import { review } from './contracts.ts'

const [database = ''] = process.argv.slice(2)
const reviews = defineTask(review, async (ctx, { repo }) => {
  const { by = 'nobody' } = await ctx.requestApproval('release', { repo }, { mode: 'supervised' })
  await ctx.waitForSignal('go')
  return { repo, by }
})
const worker = await createWorker({
  store: `sqlite:${database}`,
  tasks: [reviews],
  signals: true,
  logger: false,
})
console.log(`ready ${worker.info.processId}`)
