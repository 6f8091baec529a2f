import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { loadTaskTypes } from '../task-types.ts'
import { showPage } from '../serving/open-in-browser.ts'
import { serveStore } from '../serving/serve-store.ts'

export const run: Run = async (call) => {
  const [module] = call.args
  const {
    console: hasConsole = true,
    readOnly,
    open = false,
    reports,
  } = call.options as {
    readonly console?: boolean
    readonly readOnly?: boolean
    readonly open?: boolean
    readonly reports?: string
  }
  const onlyServes = call.options['tasks'] === false
  if (onlyServes && module !== undefined) throw new UsageError('give either a module of tasks or --no-tasks')
  const settings = await call.settings(
    onlyServes ? { tasks: undefined } : module === undefined ? {} : { tasks: module },
  )
  const types = onlyServes ? undefined : await loadTaskTypes(settings)
  return serveStore(call, settings, {
    types,
    readOnly: readOnly === true,
    hasConsole,
    reports,
    onListening: ({ url }) => {
      if (open) showPage(call, url)
    },
  })
}
