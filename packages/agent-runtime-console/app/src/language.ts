// A browser that runs under the locale POSIX names a language that Intl refuses, and the charts ask for it when they are loaded.
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' })
}
