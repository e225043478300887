// Drives every method of `angelia acp` with the official TypeScript client, and prints what it saw as JSON.
// Usage: node drive.mjs WORKSPACE PICTURE COMMAND [ARGUMENT…]
import { spawn } from "node:child_process";
import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [workspace, picture, command, ...words] = process.argv.slice(2);
const agent = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
const { agent: methods, client: ours } = acp.methods;
const seen = { updates: [], asked: {}, stops: {}, errors: {} };
const note = (what) => void (seen.asked[what] = (seen.asked[what] ?? 0) + 1);
const unsaved = new Map();
const terminals = new Map();
const end = ({ code, signal }) => (signal ? { exitCode: null, signal } : { exitCode: code });

const app = acp
  .client({ name: "test" })
  .onNotification(ours.session.update, ({ params }) => void seen.updates.push(params))
  .onRequest(ours.session.requestPermission, ({ params }) => {
    note("permission");
    const yes = params.options.filter((option) => option.kind.startsWith("allow")).at(-1);
    return { outcome: { outcome: "selected", optionId: yes.optionId } };
  })
  .onRequest(ours.elicitation.create, () => {
    note("elicitation");
    return { action: "accept", content: { answer: "blue" } };
  })
  .onRequest(ours.fs.readTextFile, ({ params }) => {
    note("read");
    return { content: unsaved.get(params.path) ?? readFileSync(params.path, "utf8") };
  })
  .onRequest(ours.fs.writeTextFile, ({ params }) => {
    note("write");
    unsaved.delete(params.path);
    writeFileSync(params.path, params.content);
    return {};
  })
  .onRequest(ours.terminal.create, ({ params }) => {
    note("create");
    const child = spawn(params.command, params.args, { cwd: params.cwd, detached: true });
    const terminal = { child, output: "" };
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => void (terminal.output += data));
    terminal.ended = new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal })));
    terminals.set(`t${terminals.size + 1}`, terminal);
    return { terminalId: `t${terminals.size}` };
  })
  .onRequest(ours.terminal.output, ({ params }) => {
    note("output");
    return { output: terminals.get(params.terminalId).output, truncated: false };
  })
  .onRequest(ours.terminal.waitForExit, async ({ params }) => {
    note("waitForExit");
    return end(await terminals.get(params.terminalId).ended);
  })
  .onRequest(ours.terminal.kill, ({ params }) => {
    note("kill");
    process.kill(-terminals.get(params.terminalId).child.pid, "SIGKILL");
    return {};
  })
  .onRequest(ours.terminal.release, () => {
    note("release");
    return {};
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
  const fs = { readTextFile: true, writeTextFile: true };
  const clientCapabilities = { elicitation: { form: {} }, fs, terminal: true };
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
  const file = join(workspace, "b.txt");
  writeFileSync(file, "on the disk\n");
  utimesSync(file, 1_700_000_000, 1_700_000_000);
  unsaved.set(file, "unsaved\n");
  await ctx.request(methods.session.setConfigOption, { sessionId, configId: "commands", value: "editor" });
  seen.stops.editing = await prompt(sessionId, text("Edit."));
  const option = { sessionId, configId: "model", value: "openai-chat:other" };
  seen.options = await ctx.request(methods.session.setConfigOption, option);
  const waiting = prompt(sessionId, text("Hang."));
  await new Promise((resolve) => setTimeout(resolve, 200));
  await ctx.notify(methods.session.cancel, { sessionId });
  seen.stops.cancelled = await waiting;
  const taken = new AbortController();
  const back = ctx.request(
    methods.session.prompt,
    { sessionId, prompt: [text("Hang.")] },
    { cancellationSignal: taken.signal },
  );
  taken.abort();
  seen.stops["taken back"] = await back;
  seen.stops.command = await prompt(sessionId, text("/status"));
  for (let count = 0; count < 50; count += 1) {
    const more = await ctx.request(methods.session.new, where);
    await prompt(more.sessionId, text("Colour?"));
  }
  const list = await ctx.request(methods.session.list, {});
  const rest = await ctx.request(methods.session.list, { cursor: list.nextCursor });
  seen.pages = [list, rest].map((page) => page.sessions.length);
  seen.listed = [list, rest].flatMap((page) => page.sessions).find((one) => one.sessionId === sessionId);
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
