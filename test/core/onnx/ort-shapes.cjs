// Prints, for each model file named on standard input (a JSON list of paths), what onnxruntime infers of its outputs.
const ort = require('onnxruntime-node');

async function shapesOf(path) {
  const session = await ort.InferenceSession.create(path, { graphOptimizationLevel: 'disabled', logSeverityLevel: 4 });
  const found = session.outputMetadata.map(({ name, isTensor, type, shape }) => ({ name, isTensor, type, shape }));
  await session.release();
  return found;
}

async function main() {
  const paths = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
  for (const path of paths) {
    let line;
    try {
      line = { path, outputs: await shapesOf(path) };
    } catch (error) {
      line = { path, error: String(error.message).slice(0, 200) };
    }
    process.stdout.write(JSON.stringify(line) + '\n');
  }
}
void main();
