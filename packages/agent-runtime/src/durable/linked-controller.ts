/**
 * A controller that aborts with `parent` until it is unlinked. `AbortSignal.any` would keep every dependant
 * of a long-lived signal in memory (T12).
 */
export function linkedController(parent: AbortSignal): {
  readonly controller: AbortController
  readonly unlink: () => void
} {
  const controller = new AbortController()
  if (parent.aborted) {
    controller.abort(parent.reason)
    return { controller, unlink: () => {} }
  }
  const follow = () => controller.abort(parent.reason)
  parent.addEventListener('abort', follow, { once: true })
  return { controller, unlink: () => parent.removeEventListener('abort', follow) }
}
