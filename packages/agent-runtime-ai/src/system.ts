/** The time of the system, epoch ms. */
export function epochMs(): number {
  return Date.now()
}
