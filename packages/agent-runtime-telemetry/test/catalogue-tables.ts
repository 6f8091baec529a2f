import {
  attributes,
  logCatalogue,
  metricCatalogue,
  spanCatalogue,
  type AttributeKey,
  type LogEntry,
  type MetricEntry,
  type SpanEntry,
} from '../src/index.ts'

/** The catalogue as the README shows it: tables, each a list of rows, the first of them the head. */
export function catalogueTables(): Record<string, string[][]> {
  return {
    metrics: [
      ['metric', 'instrument', 'unit', 'what it measures', 'attributes'],
      ...Object.values(metricCatalogue).map(metricRow),
    ],
    spans: [
      ['span', 'kind', 'what it covers', 'attributes', 'links'],
      ...Object.values(spanCatalogue).map(spanRow),
    ],
    logs: [
      ['event', 'level', 'message', 'fields', 'with `logPayloads` also'],
      ...Object.values(logCatalogue).map(logRow),
    ],
    attributes: [
      ['attribute', 'meaning'],
      ...Object.values(attributes).map(({ name, description }) => [code(name), description]),
    ],
  }
}

function metricRow({ name, instrument, unit, description, attributes: keys }: MetricEntry): string[] {
  const kind = instrument.replace(/([A-Z])/, ' $1').toLowerCase()
  return [code(name), kind, code(unit), description, attributeNames(keys)]
}

function spanRow({ name, kind, description, attributes: keys, links }: SpanEntry): string[] {
  return [code(name), kind, description, attributeNames(keys), links.join('; ')]
}

function logRow({ event, level, message, fields, payloadFields }: LogEntry): string[] {
  return [code(event), level, message, fields.map(code).join(' '), payloadFields.map(code).join(' ')]
}

function attributeNames(keys: readonly AttributeKey[]): string {
  return keys.map((key) => code(attributes[key].name)).join(' ')
}

function code(text: string): string {
  return `\`${text}\``
}
