// Runs pairs of models on the same inputs. Reads JSON lines { name, before, after, inputs } on standard input and prints
// { name, error } per line: the largest difference over all outputs, relative to the largest value, or what went wrong.
const ort = require('onnxruntime-node');
const { createInterface } = require('node:readline');

const tensor = ({ element, values, dims }) =>
  element === 7
    ? new ort.Tensor('int64', BigInt64Array.from(values, BigInt), dims)
    : new ort.Tensor('float32', Float32Array.from(values), dims);

async function run(path, feeds) {
  const session = await ort.InferenceSession.create(path, { logSeverityLevel: 4 });
  const outputs = await session.run(feeds);
  await session.release();
  return outputs;
}

async function compare({ before, after, inputs }) {
  const feeds = Object.fromEntries(inputs.map((input) => [input.name, tensor(input)]));
  const [x, y] = [await run(before, feeds), await run(after, feeds)];
  let error = 0;
  for (const [name, a] of Object.entries(x)) {
    const b = y[name];
    if (a.dims.join() !== b.dims.join()) throw new Error(`${name}: [${a.dims}] became [${b.dims}]`);
    let [scale, difference] = [1e-3, 0];
    for (let i = 0; i < a.data.length; i++) {
      scale = Math.max(scale, Math.abs(a.data[i]));
      difference = Math.max(difference, Math.abs(a.data[i] - b.data[i]));
    }
    error = Math.max(error, difference / scale);
  }
  return error;
}

async function main() {
  for await (const line of createInterface({ input: process.stdin })) {
    const job = JSON.parse(line);
    let answer;
    try {
      answer = { name: job.name, error: await compare(job) };
    } catch (error) {
      answer = { name: job.name, error: String(error.message) };
    }
    process.stdout.write(JSON.stringify(answer) + '\n');
  }
}
void main();
