// Mocha's spec reporter that also leaves its totals, and what failed in one line each, as JSON in the file named by IKBO_TOTALS.
const { writeFileSync } = require('node:fs');
const { Spec } = require('mocha').reporters;

module.exports = class TotalsReporter extends Spec {
  constructor(runner, options) {
    super(runner, options);
    const failed = [];
    runner.on('fail', (test, error) => failed.push(`${test.fullTitle()}: ${error.message}`));
    runner.once('end', () => {
      const { passes, failures, pending } = runner.stats;
      if (process.env.IKBO_TOTALS)
        writeFileSync(process.env.IKBO_TOTALS, JSON.stringify({ passes, failures, pending, failed }));
    });
  }
};
