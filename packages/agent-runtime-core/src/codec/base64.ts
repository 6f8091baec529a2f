/** Bytes in base64 (RFC 4648, padded). Core has neither Buffer nor `btoa`. */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  let i = 0
  for (; i + 2 < bytes.length; i += 3) {
    const group = (at(bytes, i) << 16) | (at(bytes, i + 1) << 8) | at(bytes, i + 2)
    text += (pairs[group >> 12] as string) + (pairs[group & 4095] as string)
  }
  const left = bytes.length - i
  if (left === 1) text += `${pairs[at(bytes, i) << 4] as string}==`
  if (left === 2) {
    const group = (at(bytes, i) << 10) | (at(bytes, i + 1) << 2)
    text += `${pairs[group >> 6] as string}${alphabet.charAt(group & 63)}=`
  }
  return text
}

/** The bytes of a text that {@link toBase64} wrote; undefined for any other text. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const digits = text.length - padding
  const bytes = new Uint8Array((text.length / 4) * 3 - padding)
  let held = 0
  let written = 0
  for (let i = 0; i < digits; i += 1) {
    const value = values[text.charCodeAt(i)] ?? -1
    if (value < 0) return undefined
    held = ((held << 6) | value) & 0xffff
    const bits = ((i + 1) * 6) % 8
    if (bits < 6) {
      bytes[written] = held >> bits
      written += 1
    }
  }
  const spare = (1 << ((digits * 6) % 8)) - 1
  return (held & spare) === 0 ? bytes : undefined
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** Two digits for each 12 bits. */
const pairs: readonly string[] = Array.from({ length: 4096 }, (_, bits) => {
  return alphabet.charAt(bits >> 6) + alphabet.charAt(bits & 63)
})
/** The value of each character code, -1 for a character that is not a digit. */
const values = new Int8Array(128).fill(-1)
for (let i = 0; i < 64; i += 1) values[alphabet.charCodeAt(i)] = i

function at(bytes: Uint8Array, i: number): number {
  return bytes[i] as number
}
