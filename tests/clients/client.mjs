// The client of the npm SDK: node client.mjs PROGRAM FOLDER. Exits with 1 at the first surprise.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import Ajv2020 from "ajv/dist/2020.js";

const [program, folder] = process.argv.slice(2);
const HASH = "0".repeat(64);
const code = join(folder, "code");

/** Calls that must succeed, by tool; `seen` holds the answers so far. */
const good = [
  ["llmwiki_status", () => ({})],
  ["llmwiki_lint", () => ({})],
  ["llmwiki_add_source", () => ({ name: "notes", content: "Oil \u6f22 every 500 hours.\n", origin: "test" })],
  ["llmwiki_add_source", () => ({ name: "again", content: "Oil \u6f22 every 500 hours.\n" })],
  ["llmwiki_read_source", (seen) => ({ id: seen.llmwiki_add_source.id })],
  ["llmwiki_read_source", (seen) => ({ id: seen.llmwiki_add_source.id, offset: 4, limit: 3 })],
  ["llmwiki_upsert_page", (seen) => ({
    id: "pump/oil", title: "Oil", summary: "When.", body: "Every [500 hours](llmwiki://source/" +
      seen.llmwiki_add_source.id + "#L1).\n", sources: [seen.llmwiki_add_source.id],
    expectedSha256: "absent", message: "first" })],
  ["llmwiki_upsert_page", (seen) => ({
    id: "pump/oil", title: "Oil", summary: "When.", body: "Every 500 hours, `| at` least.\n",
    sources: [seen.llmwiki_add_source.id], expectedSha256: seen.llmwiki_upsert_page.sha256 })],
  ["llmwiki_read_page", () => ({ id: "pump/oil" })],
  ["llmwiki_read_page", () => ({ id: "pump/oil", at: "1", limit: 20 })],
  ["llmwiki_list_pages", () => ({})],
  ["llmwiki_list_pages", () => ({ prefix: "pump/", limit: 1 })],
  ["llmwiki_search", () => ({ query: "hours" })],
  ["llmwiki_search", () => ({ query: "nothing of the kind", limit: 3 })],
  ["llmwiki_ask", () => ({ question: "how many hours", in: "pages" })],
  ["llmwiki_lint", () => ({ all: true, paths: ["pages/pump"] })],
  ["llmwiki_reindex", () => ({})],
  ["llmwiki_status", () => ({})],
  ["llmwiki_ask", () => ({ question: "where is the oil interval", k: 2, in: "code" })],
  ["llmwiki_generate", () => ({ dryRun: true })],
  ["llmwiki_generate", () => ({ force: true })],
  ["llmwiki_show", () => ({})],
  ["llmwiki_show", () => ({ section: "index" })],
  ["knowledge_ask_projects", () => ({ query: "ledger", projects: ["billing", "nobody"], limit: 2 })],
  ["knowledge_get_from", () => ({ project: "billing", slug: "concepts/ledger" })],
];

/** Calls that must fail, with the code that they must begin with. */
const bad = [
  ["llmwiki_status", { loud: true }, "INVALID_ARGUMENT"],
  ["llmwiki_add_source", { name: "n" }, "INVALID_ARGUMENT"],
  ["llmwiki_add_source", { name: " ", content: "x" }, "INVALID_PAGE"],
  ["llmwiki_read_source", { id: HASH }, "SOURCE_NOT_FOUND"],
  ["llmwiki_read_source", { id: "short" }, "INVALID_PATH"],
  ["llmwiki_upsert_page", { id: "a", title: "t", summary: "s", sources: [HASH], body: "b" }, "SOURCE_NOT_FOUND"],
  ["llmwiki_upsert_page", { id: "../a", title: "t", summary: "s", sources: [HASH], body: "b" }, "INVALID_PATH"],
  ["llmwiki_read_page", { id: "none" }, "PAGE_NOT_FOUND"],
  ["llmwiki_list_pages", { limit: 0 }, "LIMIT_EXCEEDED"],
  ["llmwiki_list_pages", { limit: "many" }, "INVALID_ARGUMENT"],
  ["llmwiki_search", { query: "x", colour: "red" }, "INVALID_ARGUMENT"],
  ["llmwiki_lint", { only: ["NONE"] }, "INVALID_ARGUMENT"],
  ["llmwiki_reindex", { hard: true }, "INVALID_ARGUMENT"],
  ["llmwiki_generate", { path: "no/such" }, "INVALID_ARGUMENT"],
  ["llmwiki_show", { section: "no/such" }, "PAGE_NOT_FOUND"],
  ["knowledge.ask_projects", { query: "x", projects: [] }, "INVALID_ARGUMENT"],
  ["knowledge.get_from", { project: "p", slug: "s" }, "PROJECT_UNKNOWN"],
];

async function everything(client) {
  assert.equal(client.getServerVersion().name, "llmwiki");
  assert.match(client.getInstructions(), /never gives orders/);
  const { tools } = await client.listTools();
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });
  const schemas = {};
  for (const tool of tools) {
    assert.match(tool.name, /^[a-z0-9_]{1,40}$/);
    for (const hint of ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]) {
      assert.equal(typeof tool.annotations[hint], "boolean", `${tool.name} ${hint}`);
    }
    schemas[tool.name] = { takes: ajv.compile(tool.inputSchema), gives: ajv.compile(tool.outputSchema) };
  }
  const called = new Set([...good.map(([name]) => name)]);
  for (const { name } of tools) assert(called.has(name), `${name} is not called here`);

  const seen = {};
  for (const [name, make] of good) {
    const args = make(seen);
    assert(schemas[name].takes(args), `${name} takes ${JSON.stringify(args)}`);
    const result = await client.callTool({ name, arguments: args });
    assert(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
    const { gives } = schemas[name];
    assert(gives(result.structuredContent), `${name}: ${JSON.stringify(gives.errors)}`);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    seen[name] = result.structuredContent;
  }
  assert.equal(seen.llmwiki_status.pageCount, 1);
  for (const [name, args, code] of bad) {
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError, true, name);
    assert.equal(result.structuredContent, undefined);
    assert(result.content[0].text.startsWith(`${code}: `), `${name}: ${result.content[0].text}`);
  }
  await assert.rejects(client.callTool({ name: "none", arguments: {} }), { code: -32602 });
  const asked = await client.callTool({
    name: "knowledge.ask_projects", arguments: { query: "x", projects: ["a", "b"] } });
  assert.equal(asked.structuredContent.results[1].error, "unknown project \u2014 run sync first");

  const { resources } = await client.listResources();
  for (const { uri } of resources) {
    const { contents } = await client.readResource({ uri });
    assert(contents[0].text.length > 0, uri);
  }
  assert(resources.some(({ uri }) => uri === "llmwiki://page/pump/oil"));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resourceTemplates.map((it) => it.uriTemplate),
    ["llmwiki://page/{+id}", "llmwiki://source/{id}", "llmwiki://wiki/{+section}"]);
  const about = await client.readResource({ uri: "llmwiki://wiki/index" });
  assert.match(about.contents[0].text, /How it is laid out/);
  const uri = `llmwiki://source/${seen.llmwiki_add_source.id}#L1`;
  const { contents } = await client.readResource({ uri });
  assert.equal(contents[0].text, "Oil \u6f22 every 500 hours.\n");
  await assert.rejects(client.readResource({ uri: "llmwiki://page/none" }), { code: -32002 });
  const { completion } = await client.complete({
    ref: { type: "ref/resource", uri: "llmwiki://page/{+id}" }, argument: { name: "id", value: "pu" } });
  assert.deepEqual(completion.values, ["pump/oil"]);

  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((it) => it.name),
    ["ingest_source", "answer_with_citations", "lint_and_plan", "refresh_stale_pages"]);
  for (const prompt of prompts) {
    const args = Object.fromEntries((prompt.arguments ?? []).map((it) => [it.name, "given"]));
    const { messages } = await client.getPrompt({ name: prompt.name, arguments: args });
    assert.equal(messages[0].content.type, "text");
  }
  await assert.rejects(client.getPrompt({ name: "none" }), { code: -32602 });
}

async function progressAndCancel(client) {
  const told = [];
  await client.callTool({ name: "llmwiki_reindex", arguments: {} }, undefined,
    { onprogress: (it) => told.push(it.progress) });
  assert(told.length > 0, "no progress was told");
  told.reduce((before, now) => (assert(now > before, told.join()), now), 0);

  const stop = new AbortController();
  const call = client.callTool({ name: "llmwiki_reindex", arguments: {} }, undefined,
    { signal: stop.signal, onprogress: () => stop.abort("enough") });
  await assert.rejects(call);
  assert(stop.signal.aborted);
  const { structuredContent } = await client.callTool({ name: "llmwiki_search", arguments: { query: "word1" } });
  assert(structuredContent.hits.length > 0);
  assert(JSON.stringify(structuredContent).length <= 60000);
}

function newClient() {
  return new Client({ name: "npm", version: "1" });
}

async function overStdio(root, work) {
  const client = newClient();
  await client.connect(new StdioClientTransport({ command: program, args: ["--root", root, "--project", code, "mcp"] }));
  await work(client);
  await client.close();
}

async function overHttp(root, work) {
  const server = spawn(program, ["--root", root, "--project", code, "--json", "serve", "--port", "0"],
    { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const line = await new Promise((take) => createInterface(server.stdout).once("line", take));
    const client = newClient();
    const transport = new StreamableHTTPClientTransport(new URL(JSON.parse(line).mcp));
    await client.connect(transport);
    await work(client);
    await transport.terminateSession();
    await client.close();
  } finally {
    const ended = new Promise((take) => server.once("exit", (code) => take(code)));
    server.kill("SIGTERM");
    assert.equal(await ended, 0, "the server did not end cleanly");
  }
}

await overStdio(join(folder, "npm-stdio"), everything);
console.log("npm client over standard input and output: every tool, resource and prompt");
await overHttp(join(folder, "npm-http"), everything);
console.log("npm client over HTTP: every tool, resource and prompt");
await overStdio(join(folder, "large"), progressAndCancel);
await overHttp(join(folder, "large"), progressAndCancel);
console.log("npm client: progress and cancellation over both");
