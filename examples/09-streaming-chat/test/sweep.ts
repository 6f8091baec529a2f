// The chat, crashed after every commit: it comes to the same answers, and no call of the model whose end was recorded is made again.
import { readStream } from '@ku0/agent-runtime-ai'
import { sweepCrashes } from '@ku0/agent-runtime/testing'
import { chatWith } from '../src/chat.ts'
import { SmallModel } from '../src/model.ts'

const chat = chatWith(() => new SmallModel({ wordMs: 0 }))
export const tasks = [chat]

/** One answer, and what a reader saw who followed all of it. */
export const sweep = (every = 1) =>
  sweepCrashes({
    tasks,
    every,
    script: async (test) => {
      const receipt = await test.runtime.submit(chat, {})
      await test.runtime.signal(receipt, 'message', 'I go to Bergen.')
      await test.runtime.signal(receipt, 'message', 'bye')
      const result = await test.result(receipt)
      let shown = ''
      for await (const item of readStream(test.runtime.output(receipt))) {
        if (item.type === 'text') shown += item.text
        else if (item.type === 'restart') shown += '<restart>'
      }
      return [result, shown]
    },
  })
