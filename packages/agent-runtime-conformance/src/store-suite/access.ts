import { ENDED_TOKEN_MS, MAX_ACCESS_TOKENS } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function access({ rule, timed, expect }: Suite): void {
  const put = (scene: Scene, name: string, more: object = {}) =>
    scene.write({ kind: 'putAccessToken', name, hash: 'ab'.repeat(32), scopes: ['read'], ...more })
  const list = (scene: Scene) => scene.read({ kind: 'accessTokens' })

  rule('a token is listed by its name, with its hash and what it allows', async (scene) => {
    const terms = { scopes: ['submit', 'read'], client: 'acme', types: ['greet'], expiresAt: 8.64e15 }
    await put(scene, 'late', terms)
    await put(scene, 'early')
    expect(await list(scene)).toEqual([
      { name: 'early', hash: 'ab'.repeat(32), scopes: ['read'], createdAt: scene.now },
      { name: 'late', hash: 'ab'.repeat(32), ...terms, createdAt: scene.now },
    ])
  })

  rule('a token that is accepted keeps its name, until it is revoked', async (scene) => {
    await put(scene, 'ci')
    expect(await put(scene, 'ci', { hash: 'cd'.repeat(32) })).toMatchObject({ as: 'taken' })
    expect(await scene.write({ kind: 'revokeAccessToken', name: 'ci' })).toMatchObject({ name: 'ci' })
    expect(await scene.write({ kind: 'revokeAccessToken', name: 'ci' })).toBeUndefined()
    expect(await list(scene)).toMatchObject([{ hash: 'ab'.repeat(32), revokedAt: scene.now }])
    expect(await put(scene, 'ci', { hash: 'cd'.repeat(32) })).toMatchObject({ as: 'put' })
    const [token] = await list(scene)
    expect([token?.hash, token?.revokedAt]).toEqual(['cd'.repeat(32), undefined])
  })

  rule('two tokens that take a name in one commit: the first gets it', async (scene) => {
    const hashes = ['ab'.repeat(32), 'cd'.repeat(32)]
    const outcomes = await Promise.all(hashes.map((hash) => put(scene, 'ci', { hash })))
    expect(outcomes.map(({ as }) => as)).toEqual(['put', 'taken'])
    expect(await list(scene)).toMatchObject([{ hash: hashes[0] }])
  })

  timed('an expired token gives its name back, and is forgotten 90 days later', async (scene) => {
    await put(scene, 'short', { expiresAt: scene.now + 10 })
    await put(scene, 'revoked')
    await scene.write({ kind: 'revokeAccessToken', name: 'revoked' })
    await put(scene, 'stays')
    await scene.jump(10)
    expect(await put(scene, 'short', { expiresAt: scene.now + 10 })).toMatchObject({ as: 'put' })
    await scene.jump(ENDED_TOKEN_MS + 9)
    await put(scene, 'next')
    expect((await list(scene)).map(({ name }) => name)).toEqual(['next', 'short', 'stays'])
    await scene.jump(1)
    await put(scene, 'last')
    expect((await list(scene)).map(({ name }) => name)).toEqual(['last', 'next', 'stays'])
  })

  rule('more tokens than a store keeps are refused', async (scene) => {
    const names = Array.from({ length: MAX_ACCESS_TOKENS }, (_, n) => `t${n}`)
    await Promise.all(names.map((name) => put(scene, name)))
    expect(await put(scene, 'one more')).toEqual({ as: 'full' })
    await scene.write({ kind: 'revokeAccessToken', name: 't7' })
    expect(await put(scene, 't7')).toMatchObject({ as: 'put' })
    expect(await list(scene)).toHaveLength(MAX_ACCESS_TOKENS)
  })
}
