// A program with two copies of the OpenTelemetry API, as an installation may have them: one that telemetry imports, and one that
// the application and its SDK import. Prints which metrics one task gave, and the lines that were written.
//
// Without a copy for telemetry (`none`) it is installed for the application only.
//
//   node api-copies.ts TELEMETRYS_COPY APPLICATIONS_COPY
import { registerHooks } from 'node:module'

const [ours = '', theirs = ''] = process.argv.slice(2)
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== '@opentelemetry/api') return next(specifier, context)
    const isOurs = context.parentURL?.startsWith(new URL('../src', import.meta.url).href) === true
    if (isOurs && ours === 'none') throw new Error('not installed')
    return next(isOurs ? ours : theirs, { ...context, parentURL: import.meta.url })
  },
})

const { metrics, trace } = await import('@opentelemetry/api')
const { attachTelemetry, LOOK_AGAIN_MS } = await import('../src/index.ts')
const { Scene } = await import('./scene.ts')
const { Sdk } = await import('./sdk.ts')

await using sdk = new Sdk()
metrics.setGlobalMeterProvider(sdk.meterProvider)
trace.setGlobalTracerProvider(sdk.tracerProvider)
const scene = new Scene()
const lines: object[] = []
const write = (fields: object, message: string) => void lines.push({ ...fields, message })
using telemetry = attachTelemetry(scene, {
  clock: scene.clock,
  timers: scene.clock,
  logger: { warn: write, error: write },
})
scene.queued('a')
scene.completed('a', scene.started('a'))
scene.clock.advanceBy(3 * LOOK_AGAIN_MS)
console.log(
  JSON.stringify({
    recording: telemetry.recording,
    metrics: [...(await sdk.metrics()).keys()].toSorted(),
    lines,
  }),
)
