// Drives every method of `angelia acp` with the official TypeScript client, and prints what it saw as JSON.
// Usage: node drive.mjs WORKSPACE PICTURE COMMAND [ARGUMENT…]
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [workspace, picture, command, ...words] = process.argv.slice(2);
const agent = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
const { agent: methods, client: ours } = acp.methods;
const seen = { updates: [], permissions: 0, elicitations: 0, stops: {}, errors: {} };

const app = acp
  .client({ name: "test" })
  .onNotification(ours.session.update, ({ params }) => void seen.updates.push(params))
  .onRequest(ours.session.requestPermission, ({ params }) => {
    seen.permissions += 1;
    const yes = params.options.find((option) => option.kind === "allow_always");
    return { outcome: { outcome: "selected", optionId: (yes ?? params.options[0]).optionId } };
  })
  .onRequest(ours.elicitation.create, () => {
    seen.elicitations += 1;
    return { action: "accept", content: { answer: "blue" } };
  });

const text = (words) => ({ type: "text", text: words });
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await app.connectWith(stream, async (ctx) => {
  const prompt = (sessionId, ...prompt) => ctx.request(methods.session.prompt, { sessionId, prompt });
  const refused = async (name, act) => {
    try {
      await act();
      seen.errors[name] = "none";
    } catch (error) {
      seen.errors[name] = error.code;
    }
  };
  const clientCapabilities = { elicitation: { form: {} } };
  seen.hello = await ctx.request(methods.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities });
  const login = { methodId: seen.hello.authMethods[0].id };
  await ctx.request(methods.authenticate, login);
  const where = { cwd: workspace, mcpServers: [] };
  const session = await ctx.request(methods.session.new, where);
  const sessionId = session.sessionId;
  const data = readFileSync(picture).toString("base64");
  seen.stops.colour = await prompt(sessionId, text("Colour?"), { type: "image", mimeType: "image/png", data });
  seen.stops.tools = await prompt(sessionId, text("Work."));
  await ctx.request(methods.session.setMode, { sessionId, modeId: "edit" });
  const option = { sessionId, configId: "model", value: "openai-chat:other" };
  seen.options = await ctx.request(methods.session.setConfigOption, option);
  const waiting = prompt(sessionId, text("Hang."));
  await new Promise((resolve) => setTimeout(resolve, 200));
  await ctx.notify(methods.session.cancel, { sessionId });
  seen.stops.cancelled = await waiting;
  seen.list = await ctx.request(methods.session.list, {});
  await ctx.request(methods.session.close, { sessionId });
  await refused("closed", () => prompt(sessionId, text("x")));
  const before = seen.updates.length;
  await ctx.request(methods.session.resume, { ...where, sessionId });
  seen.resumed = seen.updates.slice(before).filter((one) => one.update.sessionUpdate.endsWith("message_chunk")).length;
  await ctx.request(methods.session.load, { ...where, sessionId });
  seen.loaded = seen.updates.slice(before).map((one) => one.update.sessionUpdate);
  await ctx.request(methods.session.delete, { sessionId });
  await refused("deleted", () => ctx.request(methods.session.load, { ...where, sessionId }));
  await refused("unknown", () => ctx.request("session/invented", {}));
  await ctx.request(methods.logout, {});
  await refused("logged out", () => ctx.request(methods.session.new, where));
});
agent.stdin.end();
await new Promise((resolve) => agent.once("exit", resolve));
seen.status = agent.exitCode;
console.log(JSON.stringify(seen));
