// Every channel goes to the client that is heard best on it, and all of them train for as long as
// the slowest can: host/examples/scheduler.rs once more, in JavaScript and without a library.
//
//     gleaner simulate --scheduler process:"node docs/examples/schedulers/best-channel.mjs"

import { createInterface } from "node:readline";

function decide({ round, channels, clients, gain, power_max_w, feasible }) {
  const free = new Set(Array(clients).keys());
  const pairs = [];
  for (let channel = 0; channel < channels && free.size > 0; channel++) {
    const client = [...free].reduce((a, b) => (gain[b][channel] > gain[a][channel] ? b : a));
    free.delete(client);
    const epochs = feasible.epochs_max[client][channel];
    if (epochs > 0) pairs.push({ client, channel, epochs });
  }
  const epochs = Math.min(...pairs.map((pair) => pair.epochs));
  const order = ({ client, channel }) => ({ client, channel, power_w: power_max_w, epochs });
  return { round, orders: pairs.map(order) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  const answer =
    message.type === "hello" ? { version: 2, name: "best-channel" } : decide(message);
  process.stdout.write(JSON.stringify(answer) + "\n");
}
