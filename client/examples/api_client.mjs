// Profiles a model on a chip: node api_client.mjs ADDRESS MODEL TARGET MAX_CYCLES
// Exit code 3 if the network takes more cycles. Needs `npm ci` in this folder.
import {createHash, randomUUID} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {promisify} from 'node:util';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const [address, model, target, maxCycles] = process.argv.slice(2);
const protos = new URL('../../proto', import.meta.url).pathname;
const api = grpc.loadPackageDefinition(loader.loadSync(
    ['edgekiln/v1/jobs.proto', 'google/bytestream/bytestream.proto'],
    {includeDirs: [protos], keepCase: true, enums: String, longs: Number}));
const open = Service => new Service(address, grpc.credentials.createInsecure());
const call = (client, method, request) =>
    promisify(client[method].bind(client))(request);

function upload(client, data) {
  const hash = createHash('sha256').update(data).digest('hex');
  const resource_name = `uploads/${randomUUID()}/blobs/${hash}/${data.length}`;
  return new Promise((resolve, reject) => {
    const stream = client.Write(error => error ? reject(error) :
        resolve({hash, size_bytes: data.length}));
    for (let at = 0; at === 0 || at < data.length; at += 1 << 20) {
      const piece = data.subarray(at, at + (1 << 20));
      stream.write({resource_name, write_offset: at, data: piece,
                    finish_write: at + piece.length === data.length});
    }
    stream.end();
  });
}

const jobs = open(api.edgekiln.v1.Jobs);
const chip = await call(open(api.edgekiln.v1.Targets), 'GetTarget', {name: target});
const blob = await upload(open(api.google.bytestream.ByteStream), readFileSync(model));
const {id} = await call(jobs, 'CreateJob', {
  request_id: randomUUID(), model_name: model, model: blob, goals: ['PROFILE'],
  targets: [{name: target, digest: chip.digest}]});
for await (const {progress} of jobs.WatchJob({id})) {
  if (progress) console.log(progress.stage, `${progress.progress.done}/${progress.progress.total}`);
}
const job = await call(jobs, 'GetJob', {id});
if (job.state !== 'SUCCEEDED') throw new Error(`${job.error.reason}: ${job.error.message}`);
const report = await call(open(api.edgekiln.v1.Reports), 'GetReport', {job_id: id});
console.log(`cycles ${report.totals.cycles} latency_ms ${report.totals.latency_ms.toFixed(4)}`);
process.exit(report.totals.cycles > Number(maxCycles) ? 3 : 0);
