import type { Run } from '../call.ts'
import { loadTaskTypes } from '../task-types.ts'
import { serveStore } from '../serving/serve-store.ts'

export const run: Run = async (call) => {
  const [module] = call.args
  const { console: hasConsole = true, readOnly } = call.options as {
    readonly console?: boolean
    readonly readOnly?: boolean
  }
  const settings = await call.settings(module === undefined ? {} : { tasks: module })
  const types = await loadTaskTypes(settings)
  return serveStore(call, settings, { types, readOnly: readOnly === true, hasConsole })
}
