// A chat whose worker is killed in the middle of an answer. The next one goes on, and the terminal and the page show each token once.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@ku0/agent-runtime'
import { chat } from './chat.ts'
import { servePage } from './page.ts'
import { showOnTerminal } from './terminal.ts'

const stays = process.argv.includes('--stay')
const place = mkdtempSync(join(tmpdir(), 'streaming-chat-'))
const store = join(place, 'chat.db')

async function startWorker(): Promise<ChildProcess> {
  const worker = fork(new URL('worker.ts', import.meta.url), [store], { execArgv: [] })
  await once(worker, 'message')
  return worker
}

const client = await createClient({ store: `sqlite:${store}`, logger: false })
const receipt = await client.submit(chat, {})
const page = await servePage(client, receipt)
console.log(`page: ${page.url}`)
let worker = await startWorker()

/** What the demonstration says; with `--stay` a person goes on with it on the page. */
const messages = ['I go to Bergen. What do I take?', 'And to Cairo?', ...(stays ? [] : ['bye'])]
let answers = 0
let hasKilled = false
const next = async () => {
  const said = messages[answers]
  if (said !== undefined) await client.signal(receipt, 'message', said)
}

async function killWorker(): Promise<void> {
  const { pid } = worker
  worker.kill('SIGKILL')
  await once(worker, 'exit')
  worker = await startWorker()
  console.log(`\n-- worker ${pid} was killed in the middle of this; worker ${worker.pid} goes on --`)
}

process.once('SIGINT', () => {
  rmSync(place, { recursive: true, force: true })
  process.exit()
})
try {
  await next()
  await showOnTerminal(client, receipt, (answer, isWhole) => {
    if (isWhole) {
      answers += 1
      void next()
    } else if (!hasKilled && answers === 1 && answer.split(' ').length > 8) {
      hasKilled = true
      void killWorker()
    }
  })
  console.log(`The chat is over: ${await client.result(receipt)}.`)
} finally {
  page.close()
  worker.kill()
  await client.close()
  rmSync(place, { recursive: true, force: true })
}
