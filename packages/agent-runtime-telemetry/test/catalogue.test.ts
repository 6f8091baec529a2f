import { SpanKind } from '@opentelemetry/api'
import { DataPointType, type MetricData } from '@opentelemetry/sdk-metrics'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { attributes, logCatalogue, metricCatalogue, spanCatalogue, type AttributeKey } from '../src/index.ts'
import { Scene } from './scene.ts'
import { Sdk } from './sdk.ts'
import { tellWholeStory } from './whole-story.ts'

let scene: Scene
let sdk: Sdk

beforeEach(() => {
  scene = new Scene()
  sdk = new Sdk()
})
afterEach(() => sdk[Symbol.asyncDispose]())

describe('the exports are those that the catalogue lists, and no others', () => {
  test('metrics, with instrument, unit, description and attributes', async () => {
    using _ = sdk.attach(scene)
    tellWholeStory(scene)
    const exported = [...(await sdk.metrics()).values()].map(entryOf)
    const listed = Object.values(metricCatalogue).map(({ instrument, ...entry }) => ({
      ...entry,
      kind: instrument.replace('observable', '').toLowerCase(),
      attributes: namesOf(entry.attributes),
    }))
    expect(byName(exported)).toEqual(byName(listed))
  })

  test('spans, with kind and attributes', async () => {
    using _ = sdk.attach(scene)
    tellWholeStory(scene)
    const spans = await sdk.spans()
    for (const [entry, kind] of [
      [spanCatalogue.lease, SpanKind.CONSUMER],
      [spanCatalogue.step, SpanKind.INTERNAL],
    ] as const) {
      const ofKind = spans.filter((span) => span.kind === kind)
      expect(ofKind.map(({ name }) => name.split(' ')[0])).toEqual(ofKind.map(() => entry.name.split(' ')[0]))
      expect(allKeys(ofKind.map((span) => span.attributes))).toEqual(namesOf(entry.attributes))
    }
    expect(new Set(spans.map(({ kind }) => kind))).toEqual(new Set([SpanKind.CONSUMER, SpanKind.INTERNAL]))
  })

  test.each([false, true])('log lines, with level, message and fields; logPayloads %s', (logPayloads) => {
    const lines: { level: string; message: string; fields: Record<string, unknown> }[] = []
    const lineOf = (level: string) => (fields: object, message: string) => {
      lines.push({ level, message, fields: { ...fields } })
    }
    using _ = sdk.attach(scene, { logger: { warn: lineOf('warn'), error: lineOf('error') }, logPayloads })
    tellWholeStory(scene)
    const written = lines.map(({ level, message, fields: { event, taskId, seq, at, ...fields } }) => {
      expect([taskId, seq, at]).toEqual([expect.any(String), expect.any(Number), expect.any(Number)])
      return { event, level, message, fields: Object.keys(fields).toSorted() }
    })
    expect(byEvent(written)).toEqual(
      byEvent(
        Object.values(logCatalogue).map(({ event, level, message, fields, payloadFields }) => ({
          event,
          level,
          message,
          fields: [...fields, ...(logPayloads ? payloadFields : [])].toSorted(),
        })),
      ),
    )
  })
})

describe('names', () => {
  const names = Object.values(attributes).map(({ name }) => name)
  const metricNames = Object.values(metricCatalogue).map(({ name }) => name)

  test('follow the naming rules of OpenTelemetry', () => {
    for (const name of [...names, ...metricNames]) expect(name).toMatch(/^[a-z][a-z0-9]*([._][a-z0-9]+)*$/)
  })

  test('are used once', () => {
    expect(new Set(names).size).toBe(names.length)
    expect(new Set(metricNames).size).toBe(metricNames.length)
  })

  test('are of the conventions, or of a namespace of our own', () => {
    const standard = names.filter((name) => !name.startsWith('agent_runtime.'))
    expect(standard.toSorted()).toEqual([
      'error.type',
      'messaging.client.id',
      'messaging.destination.name',
      'messaging.message.id',
      'messaging.operation.name',
      'messaging.operation.type',
      'messaging.system',
    ])
  })

  test('every attribute is used by a metric or a span', () => {
    const used = [...Object.values(metricCatalogue), ...Object.values(spanCatalogue)].flatMap(
      (entry): readonly AttributeKey[] => entry.attributes,
    )
    expect(new Set(used)).toEqual(new Set(Object.keys(attributes)))
  })
})

function entryOf({ descriptor, dataPointType, dataPoints }: MetricData) {
  const { name, unit, description } = descriptor
  const attributesSeen = allKeys(dataPoints.map((point) => point.attributes))
  return { name, kind: kinds[dataPointType], unit, description, attributes: attributesSeen }
}

const kinds = {
  [DataPointType.SUM]: 'counter',
  [DataPointType.GAUGE]: 'gauge',
  [DataPointType.HISTOGRAM]: 'histogram',
  [DataPointType.EXPONENTIAL_HISTOGRAM]: 'exponential histogram',
}

function allKeys(sets: readonly object[]): string[] {
  return [...new Set(sets.flatMap((set) => Object.keys(set)))].toSorted()
}

function namesOf(keys: readonly AttributeKey[]): string[] {
  return keys.map((key) => attributes[key].name).toSorted()
}

function byName<T extends { name: string }>(entries: readonly T[]): Record<string, T> {
  return Object.fromEntries(entries.map((entry) => [entry.name, entry]))
}

function byEvent<T extends { event: unknown }>(entries: readonly T[]): Record<string, T> {
  return Object.fromEntries(entries.map((entry) => [String(entry.event), entry]))
}
