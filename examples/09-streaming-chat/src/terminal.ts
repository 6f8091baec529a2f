import type { Client, Receipt } from '@ku0/agent-runtime'
import { readStream } from '@ku0/agent-runtime-ai'

/** Shows the chat on the terminal, each token once, and calls `heard` with the text of the answer so far, and at its end. */
export async function showOnTerminal(
  client: Client,
  chat: Receipt,
  heard: (answer: string, isWhole: boolean) => void,
): Promise<void> {
  let answer = ''
  for await (const item of readStream(client.output(chat))) {
    switch (item.type) {
      case 'chunk':
        console.log(`you: ${(item.data as { said: string }).said}`)
        break
      case 'tool-call':
        console.log(`(${item.toolName} ${item.input})`)
        break
      case 'text':
        process.stdout.write(answer === '' ? `agent: ${item.text}` : item.text)
        answer += item.text
        heard(answer, false)
        break
      case 'restart':
        // A terminal takes nothing back. A page does.
        console.log('… no, once more:')
        answer = ''
        break
      case 'end':
        if (answer === '') break
        console.log()
        heard(answer, true)
        answer = ''
        break
      case 'start':
      case 'reasoning':
    }
  }
}
