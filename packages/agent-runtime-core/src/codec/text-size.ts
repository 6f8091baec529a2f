/** The bytes of a text in UTF-8; a lone surrogate counts 3, as what replaces it does. */
export function sizeOf(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    if (unit < 0x800) bytes += 1
    else bytes += 2
    if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(i + 1))) i += 1
  }
  return bytes
}

/**
 * Whether a text has more than `maxBytes` bytes in UTF-8. Counts them only when its length leaves that open.
 */
export function exceeds(text: string, maxBytes: number): boolean {
  if (text.length > maxBytes) return true
  return text.length * 3 > maxBytes && sizeOf(text) > maxBytes
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
