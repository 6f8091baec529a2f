import './rolling-upgrade.test.ts'
