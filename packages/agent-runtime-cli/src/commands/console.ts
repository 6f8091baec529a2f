import type { Run } from '../call.ts'
import { assertThere } from '../connect.ts'
import { showPage } from '../serving/open-in-browser.ts'
import { serveStore } from '../serving/serve-store.ts'

export const run: Run = async (call) => {
  const { open = true, readOnly = false } = call.options as {
    readonly open?: boolean
    readonly readOnly?: boolean
  }
  const settings = await call.settings()
  await assertThere(settings)
  return serveStore(call, settings, {
    readOnly,
    hasConsole: true,
    onListening({ url }) {
      if (!call.print.isJson) call.print.lines([url])
      if (open) showPage(call, url)
    },
  })
}
