import { createHash } from 'node:crypto'
import { CHAIN_START } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { chainDigest } from '../../src/system.ts'

test('the chain is sha256 of the digest before and the text in UTF-8, and what was handed out stays as it is', () => {
  const texts = Array.from({ length: 300 }, (_, n) => `${n}\n${'é✓😀\ud800'.repeat(n % 7)}`)
  texts.push('', 'x'.repeat(10_000), '✓'.repeat(10_000))
  let last = CHAIN_START
  const digests = texts.map((text) => (last = chainDigest(last, text)))

  let expected = Buffer.from(CHAIN_START)
  for (const [n, text] of texts.entries()) {
    expected = createHash('sha256').update(expected).update(text, 'utf8').digest()
    expect(Buffer.from(digests[n] ?? []).toString('hex')).toBe(expected.toString('hex'))
  }
})
