// Runs a task whose command has a child; both write their ids to the given file. Waits for its own end.
import { existsSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'

const file = process.argv[2] ?? ''
const tool = defineTask({ type: 'tool', input: z.null() }, async (ctx) => {
  await ctx.exec('true')
  const running = ctx.exec('sh', ['-c', `trap '' TERM; sleep 1000 & echo $$ $! > ${file}; wait`])
  // It is guarded in the turn that starts it. A turn that finds its file comes later.
  while (!existsSync(file)) await new Promise((resume) => void setTimeout(resume, 5))
  writeFileSync(`${file}.guarded`, '')
  await running
})
const runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [tool], logger: false })
await runtime.submit(tool, null)
