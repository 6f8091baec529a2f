import type { Run } from '../call.ts'
import { assertThere } from '../connect.ts'
import { showPage } from '../serving/open-in-browser.ts'
import { serveStore } from '../serving/serve-store.ts'

export const run: Run = async (call) => {
  const {
    open = true,
    readOnly = false,
    reports,
  } = call.options as {
    readonly open?: boolean
    readonly readOnly?: boolean
    readonly reports?: string
  }
  const settings = await call.settings()
  await assertThere(settings)
  return serveStore(call, settings, {
    readOnly,
    reports,
    hasConsole: true,
    onListening({ url }) {
      if (!call.print.isJson) call.print.lines([url])
      if (open) showPage(call, url)
    },
  })
}
