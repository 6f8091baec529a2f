// node streamed.ts FILE EVENTS: streams so many events through three stages, and sends how many went through in a second and the most memory that this
// process had.
import { passLine, runtimeFor, stream } from './pass-line.ts'

const [file = '', count = ''] = process.argv.slice(2)
const events = Number(count)
const pipeline = passLine(1)
await using runtime = await runtimeFor(pipeline, file)
let most = 0
const look = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 20)
const began = performance.now()
await stream(runtime, pipeline, events)
clearInterval(look)
const perSec = (events * 1_000) / (performance.now() - began)
process.send?.({ perSec, mb: Math.max(most, process.memoryUsage.rss()) / 1_048_576 })
process.disconnect?.()
