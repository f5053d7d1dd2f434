// Mocha's spec reporter that also leaves its totals as JSON in the file named by IKBO_TOTALS.
const { writeFileSync } = require('node:fs');
const { Base, Spec } = require('mocha').reporters;

module.exports = function TotalsReporter(runner, options) {
  Base.call(this, runner, options);
  const spec = new Spec(runner, options);
  runner.once('end', () => {
    const { passes, failures, pending } = runner.stats;
    if (process.env.IKBO_TOTALS) writeFileSync(process.env.IKBO_TOTALS, JSON.stringify({ passes, failures, pending }));
    void spec;
  });
};
