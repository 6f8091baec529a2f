import { expect, test } from 'vitest'
import { Scene } from './scene.ts'
import { Sdk } from './sdk.ts'

test('spans whose end is not heard end, counted as dropped, when there are too many', async () => {
  const scene = new Scene()
  await using sdk = new Sdk()
  using telemetry = sdk.attach(scene)
  for (let i = 0; i < 50_010; i += 1) scene.started(`t${i}`)
  expect(telemetry.dropped.traces).toBe(10)
  expect((await sdk.spans()).map(({ attributes }) => attributes['messaging.message.id'])).toEqual(
    Array.from({ length: 10 }, (_, i) => `t${i}`),
  )
})
