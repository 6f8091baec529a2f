/** The URL behind what was given: that itself, or the path of a file. */
export function storeUrl(given: string): string {
  return /^[a-z]+:/.test(given) ? given : `sqlite:${given}`
}
