import {
  type ConfigProblem,
  fits,
  isRecord,
  limitedAmounts,
  problemsIn,
  profileConfigRules,
  profileConfigs,
  type ProfileTerms,
  type ResourceLimits,
  resourceLimitRules,
  type Rule,
  softAboveHard,
  meantText,
  type WorkloadProfile,
  workloadProfiles,
} from '@ku0/agent-runtime-core'
import type { ProfileSetting, TaskProfile } from '../api/profiles.ts'

/** The problems of a profile and of the limits beside it; each path begins with `path`. */
export function profileProblems(setting: unknown, limits: unknown, path: string): ConfigProblem[] {
  if (setting === undefined)
    return limits === undefined
      ? []
      : [{ path: `${path}limits`, allowed: 'limits belong to a profile: name the profile', given: limits }]
  const at = `${path}profile`
  if (!isRecord(setting)) return [...nameProblems(setting, at), ...limitProblems(limits, `${path}limits`)]
  const problems = problemsIn(setting, settingRules, { path: `${at}.`, required: ['profile'] })
  if (problems.length > 0) return problems
  const { profile, config, limits: own } = setting
  if (own !== undefined && limits !== undefined)
    problems.push({ path: `${path}limits`, allowed: `only one of limits and ${at}.limits`, given: limits })
  if (profile !== 'CUSTOM' && config !== undefined)
    problems.push({ path: `${at}.config`, allowed: "config only for the profile 'CUSTOM'", given: config })
  return [
    ...problems,
    ...nameProblems(profile, `${at}.profile`, config),
    ...(profile === 'CUSTOM' && config !== undefined ? configProblems(config, `${at}.config`) : []),
    ...limitProblems(own ?? limits, own === undefined ? `${path}limits` : `${at}.limits`),
  ]
}

/** The profile of a setting that has no problems. */
export function profileOf(setting: ProfileSetting, limits: ResourceLimits = {}): TaskProfile {
  if (typeof setting === 'string') return { profile: setting, config: profileConfigs[setting], limits }
  const config = setting.profile === 'CUSTOM' ? setting.config : profileConfigs[setting.profile]
  return { profile: setting.profile, config, limits: setting.limits ?? limits }
}

/** The terms of one lease. A timeout that is shorter than the profile's maximum replaces it. */
export function termsOf(profile: TaskProfile, timeoutMs = Number.POSITIVE_INFINITY): ProfileTerms {
  return { ...profile, grantedMs: Math.ceil(Math.min(profile.config.maxDurationMs, timeoutMs)) }
}

/** Whether {@link profileOf} returned a value. */
export function isTaskProfile(value: unknown): value is TaskProfile {
  if (!isRecord(value)) return false
  const { profile, config, limits } = value
  return (
    workloadProfiles.includes(profile as WorkloadProfile) &&
    fits(config, profileConfigRules) &&
    limitProblems(limits, '').length === 0
  )
}

const anything: Rule = ['', () => true]
const profileWords = workloadProfiles.join(' | ')
// A missing profile is reported with these words; nameProblems reports what is wrong with a given one.
const settingRules = { profile: [profileWords, () => true] as Rule, config: anything, limits: anything }
const limitsRules = { soft: anything, hard: anything }

function nameProblems(given: unknown, path: string, config?: unknown): ConfigProblem[] {
  if (given === 'CUSTOM' && config === undefined) {
    const fields = Object.keys(profileConfigRules).join(', ')
    const allowed = `'CUSTOM' with a config: { profile: 'CUSTOM', config: { ${fields} } }`
    return [{ path, allowed, given }]
  }
  if (workloadProfiles.includes(given as WorkloadProfile)) return []
  const meant = typeof given === 'string' ? meantText(given.toUpperCase(), workloadProfiles) : ''
  return [{ path, allowed: profileWords + meant, given }]
}

function configProblems(given: unknown, path: string): ConfigProblem[] {
  if (!isRecord(given))
    return [{ path, allowed: `an object with ${Object.keys(profileConfigRules).join(', ')}`, given }]
  return problemsIn(given, profileConfigRules, {
    path: `${path}.`,
    required: Object.keys(profileConfigRules),
  })
}

/** The problems of limits that are given for a known profile. */
export function limitProblems(given: unknown, path: string): ConfigProblem[] {
  if (given === undefined) return []
  if (!isRecord(given)) return [{ path, allowed: 'an object with soft and hard limits', given }]
  const problems = problemsIn(given, limitsRules, { path: `${path}.` })
  for (const kind of ['soft', 'hard'] as const) {
    const own = given[kind]
    if (own === undefined) continue
    if (isRecord(own)) problems.push(...problemsIn(own, resourceLimitRules, { path: `${path}.${kind}.` }))
    else
      problems.push({
        path: `${path}.${kind}`,
        allowed: `an object with ${limitedAmounts.join(', ')}`,
        given: own,
      })
  }
  if (problems.length > 0) return problems
  const limits = given as ResourceLimits
  return softAboveHard(limits).map((name) => ({
    path: `${path}.soft.${name}`,
    allowed: `at most the hard limit, ${limits.hard?.[name]}`,
    given: limits.soft?.[name],
  }))
}
